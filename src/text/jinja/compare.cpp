// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "text/jinja/fault.h"
#include "text/jinja/value.h"

namespace lanner::text::jinja {
namespace {

constexpr double kInt128End = 0x1p127;

// Compares exactly: a large integer is not rounded to the float's precision first.
int compare_int_float(Int a, double b) {
  if (b >= kInt128End) return -1;
  if (b < -kInt128End) return 1;
  const double whole = std::trunc(b);
  const Int integer = static_cast<Int>(whole);
  if (a != integer) return a < integer ? -1 : 1;
  return b == whole ? 0 : whole < b ? -1 : 1;
}

bool number_equals(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return a.as_int() == b.as_int();
  if (a.is(Kind::kFloat) && b.is(Kind::kFloat)) return a.as_double() == b.as_double();
  const double real = a.is(Kind::kFloat) ? a.as_double() : b.as_double();
  return !std::isnan(real) && compare_int_float(a.is(Kind::kFloat) ? b.as_int() : a.as_int(), real) == 0;
}

bool number_less(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return a.as_int() < b.as_int();
  if (a.is(Kind::kFloat) && b.is(Kind::kFloat)) return a.as_double() < b.as_double();
  if (a.is(Kind::kFloat))
    return !std::isnan(a.as_double()) && compare_int_float(b.as_int(), a.as_double()) > 0;
  return !std::isnan(b.as_double()) && compare_int_float(a.as_int(), b.as_double()) < 0;
}

bool dict_equals(const Dict& a, const Dict& b) {
  if (a.size() != b.size()) return false;
  return std::all_of(a.entries().begin(), a.entries().end(), [&](const Dict::Entry& entry) {
    const Value* other = b.find(entry.first);
    return other && equals(entry.second, *other);
  });
}

size_t mix(size_t seed, size_t value) {
  return seed ^ (value + 0x9E3779B97F4A7C15u + (seed << 6) + (seed >> 2));
}

// Equal numbers of different types must hash alike.
size_t hash_number(const Value& value) {
  const double real = value.as_double();
  const bool small = std::trunc(real) == real && std::fabs(real) < 0x1p53;
  return small ? std::hash<long long>{}(static_cast<long long>(real)) : std::hash<double>{}(real);
}

}  // namespace

bool equals(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return number_equals(a, b);
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kText:
      return a.as_text() == b.as_text();
    case Kind::kList:
    case Kind::kTuple:
      return a.identical(b) ||
             std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(), equals);
    case Kind::kDict:
      return a.identical(b) || dict_equals(a.as_dict(), b.as_dict());
    default:
      return a.identical(b);
  }
}

bool less(const Value& a, const Value& b, std::string_view operator_name) {
  if (a.is_number() && b.is_number()) return number_less(a, b);
  if (a.is_text() && b.is_text()) return a.as_text() < b.as_text();
  for (const Value* side : {&a, &b})
    if (side->is_undefined())
      throw Fault(side->as_undefined().forbidden ? FaultKind::kSecurity : FaultKind::kUndefined,
                  side->as_undefined().message);
  if (a.is_list_or_tuple() && a.kind() == b.kind()) {
    const auto& x = a.items();
    const auto& y = b.items();
    const auto [at, other] = std::mismatch(x.begin(), x.end(), y.begin(), y.end(), equals);
    if (at == x.end() || other == y.end()) return at == x.end() && other != y.end();
    return less(*at, *other, operator_name);
  }
  throw Fault(FaultKind::kType, "'" + std::string(operator_name) + "' not supported between instances of '" +
                                    a.type_name() + "' and '" + b.type_name() + "'");
}

bool is_hashable(const Value& value) {
  if (value.is(Kind::kList) || value.is(Kind::kDict)) return false;
  if (!value.is(Kind::kTuple)) return true;
  return std::all_of(value.items().begin(), value.items().end(), is_hashable);
}

size_t hash_of(const Value& value) {
  switch (value.kind()) {
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kFloat:
      return hash_number(value);
    case Kind::kText:
      return std::hash<std::string>{}(value.as_text());
    case Kind::kTuple: {
      size_t seed = 0x345678;
      for (const Value& item : value.items()) seed = mix(seed, hash_of(item));
      return seed;
    }
    case Kind::kObject:
      return std::hash<const void*>{}(value.as_object().get());
    case Kind::kList:
    case Kind::kDict:
      throw Fault(FaultKind::kType, "unhashable type: '" + value.type_name() + "'");
    default:
      return static_cast<size_t>(value.kind());
  }
}

}  // namespace lanner::text::jinja
