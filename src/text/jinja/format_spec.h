// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

namespace lanner::text::jinja {

/// One conversion's flags, shared by % formatting and brace formatting.
struct FormatSpec {
  char32_t fill = ' ';
  char align = 0;   ///< '<', '>', '^', '=' or 0 for the type's default.
  char sign = '-';  ///< '+', '-' or ' '.
  bool alternate = false;
  char grouping = 0;  ///< ',' or '_'.
  int width = 0;
  int precision = -1;
  char type = 0;
};

/// format(value, spec) of Python.
std::string format_value(Runtime& runtime, const Value& value, const FormatSpec& spec);
/// Pads `text` (a number's sign and prefix stay in front when aligned with '=').
std::string pad(Runtime& runtime, std::string_view text, size_t prefix_length, const FormatSpec& spec,
                char default_align);
/// Sign, prefix and digits of a number, unpadded; `prefix_length` is set to where padding zeros go.
std::string number_body(const Value& value, const FormatSpec& spec, size_t& prefix_length);
/// Largest width and precision accepted: they come from foreign templates.
inline constexpr int kMaxFormatWidth = 1 << 16;

}  // namespace lanner::text::jinja
