// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace lanner::io {

/// Throws Error kCorrupt "source: problem".
[[noreturn]] void throw_corrupt(std::string_view source, const std::string& problem);

}  // namespace lanner::io
