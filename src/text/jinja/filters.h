// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

namespace lanner::text::jinja {

/// value | name(arguments)
using Filter = Value (*)(Runtime& runtime, const Value& value, const CallArguments& arguments);
/// value is name(arguments)
using Test = bool (*)(Runtime& runtime, const Value& value, const CallArguments& arguments);

/// nullptr when there is none of that name.
Filter find_filter(std::string_view name);
Test find_test(std::string_view name);
/// As above; faults when there is none.
Filter require_filter(std::string_view name);
Test require_test(std::string_view name);

/// Runs a filter, with the literal rule of call_method().
Value apply_filter(Runtime& runtime, Filter filter, const Value& value, const CallArguments& arguments);

/// The filters by theme, one source file each; nullptr when the theme has none of that name.
Filter find_text_filter(std::string_view name);
Filter find_markup_filter(std::string_view name);
Filter find_number_filter(std::string_view name);
Filter find_sequence_filter(std::string_view name);
Filter find_selection_filter(std::string_view name);

/// Jinja's attribute paths ("a.b.0"), used by map, sort, groupby and others.
class AttributePath {
 public:
  AttributePath(Runtime& runtime, const Value& path);
  Value of(Runtime& runtime, Value item, const Value* fallback = nullptr) const;

 private:
  std::vector<Value> parts_;
};

/// Lower-cases text, for orders that ignore case.
Value fold_case(const Value& value);

}  // namespace lanner::text::jinja
