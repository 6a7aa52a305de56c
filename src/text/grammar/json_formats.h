// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

namespace lanner::text::grammar {

/// An expression (see parse_whole_regex()) for the strings of a "format" of JSON Schema; nothing for formats
/// that are not enforced. The expressions stay within what the format's own document allows and leave out its
/// rarer forms (an email address has no quoted part, a URI has an authority).
std::optional<std::string_view> format_expression(std::string_view format);

}  // namespace lanner::text::grammar
