// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lanner::io {

/// "line 3, column 7 (byte 42)" of the 0-based byte `offset` in `text`; column and byte count from 1, in
/// bytes.
std::string text_position(std::string_view text, std::size_t offset);

/// What nlohmann's parser complained about, without its own prefix and position, as one printable line.
std::string syntax_complaint(std::string_view exception_text);

}  // namespace lanner::io
