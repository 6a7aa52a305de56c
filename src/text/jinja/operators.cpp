// SPDX-License-Identifier: MIT
#include "text/jinja/operators.h"

#include <cmath>

#include "text/jinja/fault.h"
#include "text/jinja/iteration.h"
#include "text/jinja/methods.h"
#include "text/jinja/number_text.h"
#include "text/jinja/text_builder.h"
#include "text/jinja/value_text.h"

namespace lanner::text::jinja {
namespace {

constexpr Int kMaxRepeat = Int{1} << 26;  // Bytes or elements.

[[noreturn]] void throw_overflow() { throw Fault(FaultKind::kValue, "integer result is too large"); }

[[noreturn]] void throw_unsupported(std::string_view op, const Value& left, const Value& right) {
  throw Fault(FaultKind::kType, "unsupported operand type(s) for " + std::string(op) + ": '" +
                                    left.type_name() + "' and '" + right.type_name() + "'");
}

std::string_view spelling(Operator op) {
  switch (op) {
    case Operator::kAdd:
      return "+";
    case Operator::kSubtract:
      return "-";
    case Operator::kMultiply:
      return "*";
    case Operator::kDivide:
      return "/";
    case Operator::kFloorDivide:
      return "//";
    case Operator::kModulo:
      return "%";
    case Operator::kLess:
      return "<";
    case Operator::kLessEqual:
      return "<=";
    case Operator::kGreater:
      return ">";
    case Operator::kGreaterEqual:
      return ">=";
    default:
      return "** or pow()";
  }
}

Int floor_divide(Int a, Int b) {
  const Int quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Int int_power(Int base, Int exponent) {
  Int result = 1;
  while (true) {
    if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) throw_overflow();
    exponent >>= 1;
    if (exponent == 0) return result;
    if (__builtin_mul_overflow(base, base, &base)) throw_overflow();
  }
}

Value int_binary(Operator op, Int a, Int b) {
  Int result = 0;
  switch (op) {
    case Operator::kAdd:
      if (__builtin_add_overflow(a, b, &result)) throw_overflow();
      return Value::integer(result);
    case Operator::kSubtract:
      if (__builtin_sub_overflow(a, b, &result)) throw_overflow();
      return Value::integer(result);
    case Operator::kMultiply:
      if (__builtin_mul_overflow(a, b, &result)) throw_overflow();
      return Value::integer(result);
    case Operator::kDivide:
      if (b == 0) throw Fault(FaultKind::kValue, "division by zero");
      return Value::real(static_cast<double>(a) / static_cast<double>(b));
    case Operator::kFloorDivide:
    case Operator::kModulo:
      if (b == 0) throw Fault(FaultKind::kValue, "integer division or modulo by zero");
      if (b == -1) return op == Operator::kModulo ? Value::integer(0) : int_binary(Operator::kSubtract, 0, a);
      return Value::integer(op == Operator::kFloorDivide ? floor_divide(a, b) : a - floor_divide(a, b) * b);
    default:
      if (b < 0) {
        if (a == 0) throw Fault(FaultKind::kValue, "0.0 cannot be raised to a negative power");
        return Value::real(std::pow(static_cast<double>(a), static_cast<double>(b)));
      }
      return Value::integer(a == 0 || a == 1 ? (b == 0 ? Int{1} : a) : int_power(a, b));
  }
}

double float_modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

double float_floor_divide(double a, double b) {
  const double modulo = std::fmod(a, b);
  double quotient = (a - modulo) / b;
  if (modulo != 0 && (modulo < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

Value float_binary(Operator op, double a, double b) {
  switch (op) {
    case Operator::kAdd:
      return Value::real(a + b);
    case Operator::kSubtract:
      return Value::real(a - b);
    case Operator::kMultiply:
      return Value::real(a * b);
    case Operator::kDivide:
      if (b == 0) throw Fault(FaultKind::kValue, "float division by zero");
      return Value::real(a / b);
    case Operator::kFloorDivide:
      if (b == 0) throw Fault(FaultKind::kValue, "float floor division by zero");
      return Value::real(float_floor_divide(a, b));
    case Operator::kModulo:
      if (b == 0) throw Fault(FaultKind::kValue, "float modulo");
      return Value::real(float_modulo(a, b));
    default:
      if (a == 0 && b < 0) throw Fault(FaultKind::kValue, "0.0 cannot be raised to a negative power");
      if (a < 0 && std::floor(b) != b) throw Fault(FaultKind::kValue, "complex numbers are not supported");
      return Value::real(std::pow(a, b));
  }
}

Value add(Runtime& runtime, const Value& left, const Value& right) {
  if (left.is_text() && right.is_text()) {
    runtime.admit_text(left.as_text().size() + right.as_text().size());
    if (!left.is_safe_text() && !right.is_safe_text()) {
      TextBuilder whole;
      whole.append(left);
      whole.append(right);
      return whole.take();
    }

    return Value::safe_text(escape_html(runtime, left) + escape_html(runtime, right));
  }
  if (left.is_list_or_tuple() && left.kind() == right.kind()) {
    runtime.spend(left.items().size() + right.items().size());
    std::vector<Value> items = left.items();
    items.insert(items.end(), right.items().begin(), right.items().end());
    return left.is(Kind::kList) ? Value::list(std::move(items)) : Value::tuple(std::move(items));
  }
  if (left.is_text())
    throw Fault(FaultKind::kType, "can only concatenate str (not \"" + right.type_name() + "\") to str");
  if (left.is_list_or_tuple())
    throw Fault(FaultKind::kType, "can only concatenate " + left.type_name() + " (not \"" +
                                      right.type_name() + "\") to " + left.type_name());
  throw_unsupported("+", left, right);
}

Value repeat(Runtime& runtime, const Value& sequence, Int times) {
  const size_t size = sequence.is_text() ? sequence.as_text().size() : sequence.items().size();
  const Int total = times <= 0 || size == 0 ? 0
                    : times > kMaxRepeat    ? kMaxRepeat + 1
                                            : times * static_cast<Int>(size);
  if (total > kMaxRepeat) throw Fault(FaultKind::kLimit, "repeated sequence is too large");
  const size_t count = size == 0 ? 0 : static_cast<size_t>(total) / size;
  runtime.spend(static_cast<std::uint64_t>(total));
  if (sequence.is_text()) {
    runtime.admit_text(static_cast<size_t>(total));
    std::string out;
    out.reserve(static_cast<size_t>(total));
    for (size_t i = 0; i < count; ++i) out += sequence.as_text();
    return keep_literal(Value::text_like(sequence, std::move(out)), sequence, {});
  }
  std::vector<Value> items;
  items.reserve(static_cast<size_t>(total));
  for (size_t i = 0; i < count; ++i)
    items.insert(items.end(), sequence.items().begin(), sequence.items().end());
  return sequence.is(Kind::kList) ? Value::list(std::move(items)) : Value::tuple(std::move(items));
}

Value multiply(Runtime& runtime, const Value& left, const Value& right) {
  const auto is_sequence = [](const Value& value) { return value.is_text() || value.is_list_or_tuple(); };
  if (is_sequence(left) && right.is_integral()) return repeat(runtime, left, right.as_int());
  if (is_sequence(right) && left.is_integral()) return repeat(runtime, right, left.as_int());
  if (is_sequence(left) || is_sequence(right))
    throw Fault(FaultKind::kType, "can't multiply sequence by non-int of type '" +
                                      (is_sequence(left) ? right : left).type_name() + "'");
  throw_unsupported("*", left, right);
}

}  // namespace

Value binary(Runtime& runtime, Operator op, const Value& left, const Value& right) {
  if (op == Operator::kModulo && left.is_text())
    return keep_literal(Value::text_like(left, percent_format(runtime, left, right)), left, {{right}, {}});

  for (const Value* side : {&left, &right})
    if (side->is_undefined()) throw_undefined(*side);
  if (left.is_integral() && right.is_integral()) return int_binary(op, left.as_int(), right.as_int());
  if (left.is_number() && right.is_number()) return float_binary(op, left.as_double(), right.as_double());
  if (op == Operator::kAdd) return add(runtime, left, right);
  if (op == Operator::kMultiply) return multiply(runtime, left, right);
  throw_unsupported(spelling(op), left, right);
}

Value negate(const Value& value) {
  if (value.is_integral()) return int_binary(Operator::kSubtract, 0, value.as_int());
  if (value.is(Kind::kFloat)) return Value::real(-value.as_double());
  if (value.is_undefined()) throw_undefined(value);
  throw Fault(FaultKind::kType, "bad operand type for unary -: '" + value.type_name() + "'");
}

Value plus(const Value& value) {
  if (value.is_integral()) return Value::integer(value.as_int());
  if (value.is(Kind::kFloat)) return value;
  if (value.is_undefined()) throw_undefined(value);
  throw Fault(FaultKind::kType, "bad operand type for unary +: '" + value.type_name() + "'");
}

bool compare(Runtime& runtime, Operator op, const Value& left, const Value& right) {
  switch (op) {
    case Operator::kEqual:
      return runtime.equal(left, right);
    case Operator::kNotEqual:
      return !runtime.equal(left, right);
    case Operator::kIn:
      return contains(runtime, right, left);
    case Operator::kNotIn:
      return !contains(runtime, right, left);
    default:
      break;
  }
  runtime.spend(std::min(left.extent().weight, right.extent().weight));
  const std::string_view name = spelling(op);
  switch (op) {
    case Operator::kLess:
      return less(left, right, name);
    case Operator::kGreater:
      return less(right, left, name);
    // Not the negation of the other order: a NaN compares false either way.
    case Operator::kLessEqual:
      return less(left, right, name) || equals(left, right);
    default:
      return less(right, left, name) || equals(left, right);
  }
}

}  // namespace lanner::text::jinja
