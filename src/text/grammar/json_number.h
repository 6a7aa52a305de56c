// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/grammar_source.h"

namespace lanner::text::grammar {

/// A decimal number, exactly.
struct Decimal {
  bool negative = false;
  std::string whole = "0";  ///< Digits without leading zeros, at least one.
  std::string fraction;     ///< Digits without trailing zeros.

  /// From JSON number text. Nothing when it has more than 40 digits before or behind the point.
  static std::optional<Decimal> parse(std::string_view text);
  bool is_zero() const { return whole == "0" && fraction.empty(); }
  bool is_integer() const { return fraction.empty(); }
  friend bool operator==(const Decimal&, const Decimal&) = default;
};
/// Less than 0, 0 or more than 0 as a is below, equal to or above b.
int compare(const Decimal& a, const Decimal& b);

/// One end of a range of numbers.
struct Bound {
  Decimal value;
  bool exclusive = false;
};

/// What a schema asks of a number.
struct NumberRules {
  std::optional<Bound> min, max;
  std::vector<Decimal> multiples_of;  ///< All positive.
  bool empty() const { return !min && !max && multiples_of.empty(); }
};

/// Integers that keep the rules, written without point and exponent, of at most 17 digits or as many as the
/// bounds have.
ExprId integers(GrammarSource& source, const NumberRules& rules);
/// Numbers that keep the rules (which are not empty), written without exponent.
ExprId numbers(GrammarSource& source, const NumberRules& rules);

}  // namespace lanner::text::grammar
