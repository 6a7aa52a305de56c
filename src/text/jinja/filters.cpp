// SPDX-License-Identifier: MIT
#include "text/jinja/filters.h"

#include "text/jinja/fault.h"
#include "text/jinja/methods.h"
#include "text/jinja/operators.h"
#include "text/jinja/unicode.h"
#include "text/jinja/value_text.h"

namespace lanner::text::jinja {

Filter find_filter(std::string_view name) {
  for (const auto find : {find_text_filter, find_sequence_filter, find_selection_filter, find_number_filter,
                          find_markup_filter})
    if (const Filter filter = find(name)) return filter;
  return nullptr;
}

Filter require_filter(std::string_view name) {
  if (const Filter filter = find_filter(name)) return filter;
  throw Fault(FaultKind::kTemplate, "No filter named " + quoted_repr(name) + ".");
}

Test require_test(std::string_view name) {
  if (const Test test = find_test(name)) return test;
  throw Fault(FaultKind::kTemplate, "No test named " + quoted_repr(name) + ".");
}

Value apply_filter(Runtime& runtime, Filter filter, const Value& value, const CallArguments& arguments) {
  return keep_literal(filter(runtime, value, arguments), value, arguments);
}

AttributePath::AttributePath(Runtime&, const Value& path) {
  if (path.is_none() || path.is_missing()) return;
  if (!path.is_text()) {
    parts_.push_back(path);
    return;
  }
  for (std::string_view part : split(path.as_text(), ".", -1)) {
    const bool number =
        !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == std::string_view::npos;
    parts_.push_back(number ? Value::integer(std::stol(std::string(part))) : Value::text(part));
  }
}

Value AttributePath::of(Runtime& runtime, Value item, const Value* fallback) const {
  for (const Value& part : parts_) {
    item = get_item(runtime, item, part);
    if (fallback && !fallback->is_none() && item.is_undefined()) item = *fallback;
  }
  return item;
}

Value fold_case(const Value& value) {
  return value.is_text() ? Value::text(to_lower(value.as_text())) : value;
}

}  // namespace lanner::text::jinja
