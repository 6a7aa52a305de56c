// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/jinja/value.h"

namespace lanner::text::jinja {

/// Python's str(value): what {{ }} prints. Faults when the text would exceed `max_bytes`.
std::string text_of(const Value& value, size_t max_bytes);
/// Python's repr(value).
std::string repr_of(const Value& value, size_t max_bytes);
/// repr of a str: quotes chosen as Python does, unprintable characters escaped.
std::string quoted_repr(std::string_view text);
/// The message of using `value`, as Undefined raises it.
[[noreturn]] void throw_undefined(const Value& value);

struct JsonStyle {
  std::optional<std::string> indent;  ///< What one level adds; absent: everything on one line.
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool escape_non_ascii = false;
  bool sort_keys = false;
};

/// json.dumps(value) of Python. Faults on values JSON cannot hold and on text beyond `max_bytes`.
std::string json_text(const Value& value, const JsonStyle& style, size_t max_bytes);

}  // namespace lanner::text::jinja
