// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace lanner::text::jinja {

/// Decodes the inside of a quoted literal as Jinja2 does (Python's unicode-escape). Returns what is wrong
/// with it, or nullptr.
const char* decode_string_literal(std::string_view body, std::string& out);

}  // namespace lanner::text::jinja
