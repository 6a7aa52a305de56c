// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "text/jinja/ast.h"
#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

/// Python's operators on values, with its errors.
namespace lanner::text::jinja {

Value binary(Runtime& runtime, Operator op, const Value& left, const Value& right);
Value negate(const Value& value);
Value plus(const Value& value);
bool compare(Runtime& runtime, Operator op, const Value& left, const Value& right);

/// value.name as Jinja's sandbox looks it up: attribute, then item, else undefined.
Value get_attribute(Runtime& runtime, const Value& value, std::string_view name);
/// True when the value itself (not its items) has the attribute.
bool has_attribute(const Value& value, std::string_view name);
/// value[key]: item, then attribute, else undefined.
Value get_item(Runtime& runtime, const Value& value, const Value& key);
/// value[start:stop:step]; missing parts are None.
Value get_slice(Runtime& runtime, const Value& value, const Value& start, const Value& stop,
                const Value& step);

/// text % arguments: Python's printf-style formatting. `arguments` is one value, a tuple or a dict.
std::string percent_format(Runtime& runtime, const Value& format, const Value& arguments);
/// format.format(...): Python's brace formatting.
std::string brace_format(Runtime& runtime, std::string_view format, const CallArguments& arguments);

/// HTML escaping of markupsafe. Safe text passes unchanged.
std::string escape_html(Runtime& runtime, const Value& value);
std::string escape_html(std::string_view text);

}  // namespace lanner::text::jinja
