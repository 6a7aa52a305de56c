// SPDX-License-Identifier: MIT
#include "text/grammar/json_number.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"

namespace lanner::text::grammar {

namespace {

constexpr std::size_t kMaxDigits = 40;

/// Digits that a number without bound may have before and behind the point.
constexpr std::uint32_t kWholeDigits = 17, kFractionDigits = 16;

ExprId digit(GrammarSource& source, char first, char last) {
  return source.byte_set(ByteSet::range(static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(last)));
}

int compare_magnitudes(const Decimal& a, const Decimal& b) {
  if (a.whole.size() != b.whole.size()) return a.whole.size() < b.whole.size() ? -1 : 1;
  if (const int whole = a.whole.compare(b.whole); whole != 0) return whole;
  return a.fraction.compare(b.fraction);
}

/// Writes numbers >= 0 on one side of a bound.
class MagnitudeWriter {
 public:
  MagnitudeWriter(GrammarSource& source, bool fractions) : source_(source), fractions_(fractions) {}

  /// Every number; as many digits as `like` has, at least.
  ExprId all(std::size_t whole_digits) {
    const auto digits = std::max<std::uint32_t>(kWholeDigits, static_cast<std::uint32_t>(whole_digits));
    const ExprId whole = source_.choice(
        {source_.literal("0"), source_.sequence({digit(source_, '1', '9'),
                                                 source_.repeat(digit(source_, '0', '9'), 0, digits - 1)})});
    return source_.sequence({whole, any_fraction()});
  }

  ExprId at_least(const Bound& bound) {
    const std::string& whole = bound.value.whole;
    std::vector<ExprId> ways{source_.sequence({whole_above(whole), any_fraction()})};
    if (fractions_) {
      ways.push_back(source_.sequence({source_.literal(whole), source_.literal("."),
                                       fraction_above(bound.value.fraction, bound.exclusive)}));
    }
    if (bound.value.is_integer() && !bound.exclusive) ways.push_back(source_.literal(whole));
    return source_.choice(std::move(ways));
  }

  ExprId at_most(const Bound& bound) {
    const std::string& whole = bound.value.whole;
    std::vector<ExprId> ways{source_.sequence({whole_below(whole), any_fraction()})};
    if (fractions_)
      ways.push_back(source_.sequence({source_.literal(whole), source_.literal("."),
                                       fraction_below(bound.value.fraction, bound.exclusive)}));
    if (!bound.value.is_integer() || !bound.exclusive) ways.push_back(source_.literal(whole));
    return source_.choice(std::move(ways));
  }

 private:
  ExprId digits(std::size_t min, std::size_t max) {
    return source_.repeat(digit(source_, '0', '9'), static_cast<std::uint32_t>(min),
                          static_cast<std::uint32_t>(max));
  }
  ExprId any_fraction() {
    if (!fractions_) return source_.empty();
    return source_.optional(source_.sequence({source_.literal("."), digits(1, kFractionDigits)}));
  }

  /// Whole numbers above `whole`.
  ExprId whole_above(const std::string& whole) {
    std::vector<ExprId> ways;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      if (whole[i] == '9') continue;
      const char next = static_cast<char>(whole[i] + 1);
      ways.push_back(
          source_.sequence({source_.literal(std::string_view(whole).substr(0, i)), digit(source_, next, '9'),
                            digits(whole.size() - i - 1, whole.size() - i - 1)}));
    }
    const std::size_t most = std::max<std::size_t>(kWholeDigits, whole.size());
    if (most > whole.size())
      ways.push_back(source_.sequence({digit(source_, '1', '9'), digits(whole.size(), most - 1)}));
    return source_.choice(std::move(ways));
  }

  /// Whole numbers below `whole`.
  ExprId whole_below(const std::string& whole) {
    std::vector<ExprId> ways;
    if (whole == "0") return source_.nothing();
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const char least = i == 0 && whole.size() > 1 ? '1' : '0';
      if (whole[i] <= least) continue;
      ways.push_back(source_.sequence({source_.literal(std::string_view(whole).substr(0, i)),
                                       digit(source_, least, static_cast<char>(whole[i] - 1)),
                                       digits(whole.size() - i - 1, whole.size() - i - 1)}));
    }
    if (whole.size() > 1) {
      ways.push_back(source_.literal("0"));
      if (whole.size() > 2)
        ways.push_back(source_.sequence({digit(source_, '1', '9'), digits(0, whole.size() - 2)}));
      if (whole.size() == 2) ways.push_back(digit(source_, '1', '9'));
    }
    return source_.choice(std::move(ways));
  }

  /// Digits behind the point of at least `fraction`, or more when `exclusive`.
  ExprId fraction_above(const std::string& fraction, bool exclusive) {
    const std::size_t most = std::max<std::size_t>(kFractionDigits, fraction.size() + 1);
    std::vector<ExprId> ways;
    for (std::size_t i = 0; i < fraction.size(); ++i) {
      if (fraction[i] == '9') continue;
      ways.push_back(source_.sequence({source_.literal(std::string_view(fraction).substr(0, i)),
                                       digit(source_, static_cast<char>(fraction[i] + 1), '9'),
                                       digits(0, most - i - 1)}));
    }
    const std::size_t left = most - fraction.size();
    const ExprId same = source_.literal(fraction);
    if (exclusive) {
      for (std::size_t zeros = 0; zeros < left; ++zeros)
        ways.push_back(source_.sequence({same, source_.literal(std::string(zeros, '0')),
                                         digit(source_, '1', '9'), digits(0, left - zeros - 1)}));
    } else {
      ways.push_back(source_.sequence({same, digits(fraction.empty() ? 1 : 0, left)}));
    }
    return source_.choice(std::move(ways));
  }

  /// Digits behind the point of at most `fraction`, or less when `exclusive`.
  ExprId fraction_below(const std::string& fraction, bool exclusive) {
    const std::size_t most = std::max<std::size_t>(kFractionDigits, fraction.size() + 1);
    std::vector<ExprId> ways;
    for (std::size_t i = 0; i < fraction.size(); ++i) {
      const ExprId same = source_.literal(std::string_view(fraction).substr(0, i));
      if (i > 0) ways.push_back(same);  // Digits that are left out are zeros, and a later one is not.
      if (fraction[i] != '0')
        ways.push_back(source_.sequence(
            {same, digit(source_, '0', static_cast<char>(fraction[i] - 1)), digits(0, most - i - 1)}));
    }
    const auto zeros = static_cast<std::uint32_t>(most - fraction.size());
    const std::uint32_t least = fraction.empty() ? 1 : 0;
    if (!exclusive)
      ways.push_back(
          source_.sequence({source_.literal(fraction), source_.repeat(source_.literal("0"), least, zeros)}));
    return source_.choice(std::move(ways));
  }

  GrammarSource& source_;
  bool fractions_;
};

MultipleState multiple_state(const Decimal& value) {
  const std::string digits = value.whole + value.fraction;
  std::uint64_t divisor = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), divisor);
  if (code != std::errc() || end != digits.data() + digits.size() || divisor == 0 ||
      divisor > std::uint64_t{1} << 60)
    throw Error(ErrorKind::kUnsupported, "multipleOf has too many digits");
  return multiples_of(divisor, static_cast<std::uint32_t>(value.fraction.size()));
}

/// Numbers >= 0 between the bounds, each of which may be missing.
ExprId magnitudes(GrammarSource& source, const std::optional<Bound>& min, const std::optional<Bound>& max,
                  const std::vector<Decimal>& multiples, bool fractions) {
  MagnitudeWriter writer(source, fractions);
  std::size_t digits = 1;
  for (const std::optional<Bound>* bound : {&min, &max})
    if (*bound) digits = std::max(digits, (*bound)->value.whole.size());
  std::vector<ExprId> rules;
  if (min) rules.push_back(writer.at_least(*min));
  if (max) rules.push_back(writer.at_most(*max));
  if (rules.empty()) rules.push_back(writer.all(digits));
  for (const Decimal& multiple : multiples) rules.push_back(source.multiple(multiple_state(multiple)));
  return rules.size() == 1 ? rules.front() : source.both(std::move(rules));
}

Bound magnitude(Bound bound) {
  bound.value.negative = false;
  return bound;
}

ExprId signed_numbers(GrammarSource& source, const NumberRules& rules, bool fractions) {
  std::vector<ExprId> ways;
  const bool max_negative = rules.max && rules.max->value.negative;
  const bool min_negative = !rules.min || rules.min->value.negative;
  if (!max_negative)
    ways.push_back(magnitudes(source, min_negative ? std::nullopt : rules.min, rules.max, rules.multiples_of,
                              fractions));
  if (min_negative) {
    // Below zero: the magnitude runs from that of the upper bound, or above zero, to that of the lower one.
    const Bound least = max_negative ? magnitude(*rules.max) : Bound{.value = {}, .exclusive = true};
    const std::optional<Bound> most = rules.min ? std::optional(magnitude(*rules.min)) : std::nullopt;
    ways.push_back(source.sequence(
        {source.literal("-"), magnitudes(source, least, most, rules.multiples_of, fractions)}));
  }
  return source.choice(std::move(ways));
}

}  // namespace

std::optional<Decimal> Decimal::parse(std::string_view text) {
  Decimal result;
  if (text.starts_with('-')) {
    result.negative = true;
    text.remove_prefix(1);
  }
  int exponent = 0;
  if (const std::size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
    std::string_view digits = text.substr(e + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec != std::errc())
      return std::nullopt;
    text = text.substr(0, e);
  }
  const std::size_t point = std::min(text.find('.'), text.size());
  result.whole = text.substr(0, point);
  result.fraction = point < text.size() ? text.substr(point + 1) : "";
  if (exponent > 400 || exponent < -400) return std::nullopt;
  for (; exponent > 0; --exponent) {
    result.whole += result.fraction.empty() ? '0' : result.fraction.front();
    if (!result.fraction.empty()) result.fraction.erase(0, 1);
  }
  for (; exponent < 0; ++exponent) {
    result.fraction.insert(result.fraction.begin(), result.whole.empty() ? '0' : result.whole.back());
    if (!result.whole.empty()) result.whole.pop_back();
  }
  result.whole.erase(0, std::min(result.whole.find_first_not_of('0'), result.whole.size()));
  if (result.whole.empty()) result.whole = "0";
  while (result.fraction.ends_with('0')) result.fraction.pop_back();
  if (result.whole.size() > kMaxDigits || result.fraction.size() > kMaxDigits) return std::nullopt;
  if (result.is_zero()) result.negative = false;
  return result;
}

int compare(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  return a.negative ? compare_magnitudes(b, a) : compare_magnitudes(a, b);
}

ExprId integers(GrammarSource& source, const NumberRules& rules) {
  return signed_numbers(source, rules, false);
}

ExprId numbers(GrammarSource& source, const NumberRules& rules) {
  return signed_numbers(source, rules, true);
}

}  // namespace lanner::text::grammar
