// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <unordered_map>

#include "text/jinja/arguments.h"
#include "text/jinja/fault.h"
#include "text/jinja/filters.h"
#include "text/jinja/number_text.h"
#include "text/jinja/operators.h"
#include "text/jinja/value_text.h"

namespace lanner::text::jinja {
namespace {

using Arguments = const CallArguments&;

Value absolute(Runtime&, const Value& value, Arguments arguments) {
  const BoundArguments bound("abs", arguments, {}, 0);
  if (value.is_integral()) return value.as_int() < 0 ? negate(value) : plus(value);
  if (value.is(Kind::kFloat)) return Value::real(std::fabs(value.as_double()));
  throw Fault(FaultKind::kType, "bad operand type for abs(): '" + value.type_name() + "'");
}

std::optional<double> to_float(const Value& value) {
  if (value.is_undefined()) throw_undefined(value);
  if (value.is_number()) return value.as_double();
  return value.is_text() ? parse_float(value.as_text()) : std::nullopt;
}

Value as_float(Runtime&, const Value& value, Arguments arguments) {
  const BoundArguments bound("float", arguments, {"default"}, 0);
  const std::optional<double> number = to_float(value);
  return number ? Value::real(*number) : bound.get(0, Value::real(0));
}

Value as_int(Runtime&, const Value& value, Arguments arguments) {
  const BoundArguments bound("int", arguments, {"default", "base"}, 0);
  std::optional<Int> number;
  if (value.is_integral()) number = value.as_int();
  if (value.is_text()) {
    const long long base = bound.small_integer(1, 10);
    if (base == 0 || (base >= 2 && base <= 36)) number = parse_int(value.as_text(), static_cast<int>(base));
  }
  if (!number) {
    const std::optional<double> real = to_float(value);
    if (real && std::isinf(*real)) throw Fault(FaultKind::kValue, "cannot convert float infinity to integer");
    if (real) number = int_from_double(*real);
  }
  return number ? Value::integer(*number) : bound.get(0, Value::integer(0));
}

Int round_int(Int value, long long digits) {
  if (digits >= 0) return value;
  if (digits < -37) return 0;
  Int scale = 1;
  for (long long i = digits; i < 0; ++i) scale *= 10;
  Int whole = value / scale, rest = value % scale;
  if (rest < 0) rest += scale, --whole;
  if (rest > scale - rest || (rest == scale - rest && (whole & 1))) ++whole;
  return whole * scale;
}

Value round_filter(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("round", arguments, {"precision", "method"}, 0);
  const long long digits = std::clamp(bound.small_integer(0, 0), -400LL, 400LL);
  const std::string method = bound.has(1) && bound[1].is_text() ? bound[1].as_text()
                             : bound.has(1)                     ? ""
                                                                : "common";
  if (method != "common" && method != "ceil" && method != "floor")
    throw Fault(FaultKind::kType, "method must be common, ceil or floor");
  if (value.is_undefined() && method != "common") throw_undefined(value);
  if (!value.is_number())
    throw Fault(FaultKind::kType, "type " + value.type_name() + " doesn't define __round__ method");
  if (method == "common") {
    if (value.is_integral()) return Value::integer(round_int(value.as_int(), digits));
    return Value::real(round_half_even(value.as_double(), static_cast<int>(digits)));
  }
  const Value scale = binary(runtime, Operator::kPower, Value::integer(10), Value::integer(digits));
  const double scaled = binary(runtime, Operator::kMultiply, value, scale).as_double();
  const std::optional<Int> whole = int_from_double(method == "ceil" ? std::ceil(scaled) : std::floor(scaled));
  if (!whole) throw Fault(FaultKind::kValue, "cannot convert float NaN or infinity to integer");
  return binary(runtime, Operator::kDivide, Value::integer(*whole), scale);
}

Value default_filter(Runtime&, const Value& value, Arguments arguments) {
  const BoundArguments bound("default", arguments, {"default_value", "boolean"}, 0);
  const bool replace = value.is_undefined() || (bound.truthy(1, false) && !value.truthy());
  return replace ? bound.get(0, Value::text("")) : value;
}

Value attribute(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("attr", arguments, {"name"}, 1);
  if (value.is_undefined()) throw_undefined(value);
  // Only attributes count here, never the items of a dict.
  if (value.is(Kind::kDict) && !has_attribute(value, bound.text(0)))
    return get_attribute(runtime, Value::dict({}), bound.text(0));
  return get_attribute(runtime, value, bound.text(0));
}

Value file_size(Runtime&, const Value& value, Arguments arguments) {
  const BoundArguments bound("filesizeformat", arguments, {"binary"}, 0);
  const std::optional<double> bytes = to_float(value);
  if (!bytes) throw Fault(FaultKind::kValue, "could not convert to float: " + value.type_name());
  const bool binary_units = bound.truthy(0, false);
  const double base = binary_units ? 1024 : 1000;
  static constexpr std::string_view kLetters = "kMGTPEZY";
  if (*bytes == 1) return Value::text("1 Byte");
  if (*bytes < base) return Value::text(fmt::format("{:.0f} Bytes", std::trunc(*bytes)));
  double unit = base;
  size_t power = 0;
  while (power + 1 < kLetters.size() && *bytes >= unit * base) unit *= base, ++power;
  const char letter = binary_units && power == 0 ? 'K' : kLetters[power];
  return Value::text(fmt::format("{:.1f} {}{}B", *bytes / unit, letter, binary_units ? "i" : ""));
}

const std::unordered_map<std::string_view, Filter>& number_table() {
  static const std::unordered_map<std::string_view, Filter> kTable = {
      {"abs", absolute},
      {"attr", attribute},
      {"d", default_filter},
      {"default", default_filter},
      {"filesizeformat", file_size},
      {"float", as_float},
      {"int", as_int},
      {"round", round_filter},
  };
  return kTable;
}

}  // namespace

Filter find_number_filter(std::string_view name) {
  const auto at = number_table().find(name);
  return at == number_table().end() ? nullptr : at->second;
}

}  // namespace lanner::text::jinja
