// SPDX-License-Identifier: MIT
#include <unordered_map>

#include "text/jinja/arguments.h"
#include "text/jinja/fault.h"
#include "text/jinja/filters.h"
#include "text/jinja/iteration.h"
#include "text/jinja/operators.h"
#include "text/jinja/text_operations.h"
#include "text/jinja/value_text.h"

namespace lanner::text::jinja {
namespace {

using Arguments = const CallArguments&;

template <Operator kOperator>
bool compared(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("comparison", arguments, {"other"}, 1);
  return compare(runtime, kOperator, value, bound[0]);
}

template <bool (*kHolds)(const Value&)>
bool plain(Runtime&, const Value& value, Arguments arguments) {
  const BoundArguments bound("test", arguments, {}, 0);
  return kHolds(value);
}

bool leaves(Runtime& runtime, const Value& value, const Value& divisor, Int rest) {
  return equals(binary(runtime, Operator::kModulo, value, divisor), Value::integer(rest));
}

bool odd(Runtime& runtime, const Value& value, Arguments) {
  return leaves(runtime, value, Value::integer(2), 1);
}
bool even(Runtime& runtime, const Value& value, Arguments) {
  return leaves(runtime, value, Value::integer(2), 0);
}

bool divisible_by(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("divisibleby", arguments, {"num"}, 1);
  return leaves(runtime, value, bound[0], 0);
}

bool same_as(Runtime&, const Value& value, Arguments arguments) {
  const BoundArguments bound("sameas", arguments, {"other"}, 1);
  return value.identical(bound[0]);
}

bool in(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("in", arguments, {"seq"}, 1);
  return contains(runtime, bound[0], value);
}

bool lower(Runtime& runtime, const Value& value, Arguments) { return is_lower_text(runtime.text(value)); }
bool upper(Runtime& runtime, const Value& value, Arguments) { return is_upper_text(runtime.text(value)); }
bool is_filter_name(Runtime&, const Value& value, Arguments) {
  return value.is_text() && find_filter(value.as_text());
}
bool is_test_name(Runtime&, const Value& value, Arguments) {
  return value.is_text() && find_test(value.as_text());
}

bool is_defined(const Value& value) { return !value.is_undefined(); }
bool is_undefined(const Value& value) { return value.is_undefined(); }
bool is_none(const Value& value) { return value.is_none(); }
bool is_boolean(const Value& value) { return value.is(Kind::kBool); }
bool is_false(const Value& value) { return value.is(Kind::kBool) && !value.as_bool(); }
bool is_true(const Value& value) { return value.is(Kind::kBool) && value.as_bool(); }
bool is_integer(const Value& value) { return value.is(Kind::kInt); }
bool is_float(const Value& value) { return value.is(Kind::kFloat); }
bool is_string(const Value& value) { return value.is_text(); }
bool is_mapping(const Value& value) { return value.is(Kind::kDict); }
bool is_number(const Value& value) { return value.is_number(); }
bool is_escaped(const Value& value) { return value.is_safe_text(); }

bool is_sequence(const Value& value) {
  if (value.is(Kind::kObject))
    return value.as_object()->indexable() && value.as_object()->length().has_value();
  return value.is_text() || value.is_list_or_tuple() || value.is(Kind::kDict) || value.is_undefined();
}

bool is_callable(const Value& value) {
  return value.is_undefined() || (value.is(Kind::kObject) && value.as_object()->callable());
}

const std::unordered_map<std::string_view, Test>& table() {
  static const std::unordered_map<std::string_view, Test> kTable = {
      {"odd", odd},
      {"even", even},
      {"divisibleby", divisible_by},
      {"defined", plain<is_defined>},
      {"undefined", plain<is_undefined>},
      {"filter", is_filter_name},
      {"test", is_test_name},
      {"none", plain<is_none>},
      {"boolean", plain<is_boolean>},
      {"false", plain<is_false>},
      {"true", plain<is_true>},
      {"integer", plain<is_integer>},
      {"float", plain<is_float>},
      {"lower", lower},
      {"upper", upper},
      {"string", plain<is_string>},
      {"mapping", plain<is_mapping>},
      {"number", plain<is_number>},
      {"sequence", plain<is_sequence>},
      {"iterable", plain<is_iterable>},
      {"callable", plain<is_callable>},
      {"sameas", same_as},
      {"escaped", plain<is_escaped>},
      {"in", in},
      {"==", compared<Operator::kEqual>},
      {"eq", compared<Operator::kEqual>},
      {"equalto", compared<Operator::kEqual>},
      {"!=", compared<Operator::kNotEqual>},
      {"ne", compared<Operator::kNotEqual>},
      {">", compared<Operator::kGreater>},
      {"gt", compared<Operator::kGreater>},
      {"greaterthan", compared<Operator::kGreater>},
      {">=", compared<Operator::kGreaterEqual>},
      {"ge", compared<Operator::kGreaterEqual>},
      {"<", compared<Operator::kLess>},
      {"lt", compared<Operator::kLess>},
      {"lessthan", compared<Operator::kLess>},
      {"<=", compared<Operator::kLessEqual>},
      {"le", compared<Operator::kLessEqual>},
  };
  return kTable;
}

}  // namespace

Test find_test(std::string_view name) {
  const auto at = table().find(name);
  return at == table().end() ? nullptr : at->second;
}

}  // namespace lanner::text::jinja
