// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>

/// Exponentials and logarithms made of IEEE additions, multiplications and divisions alone, in a fixed order:
/// the same bits on every CPU and on a GPU (whose code is compiled without fused products), which libraries'
/// own do not promise. Masses are integers, so that any order of adding them gives the same sum.
namespace lanner {

namespace portable_math {

inline constexpr double kLn2High = 0x1.62e42fee00000p-1;  // times any exponent: exact
inline constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

}  // namespace portable_math

/// exp(x) for x in [-700, 700], relative error below 2^-45.
constexpr double portable_exp(double x) {
  constexpr double kRound = 0x1.8p52;  // x + kRound has no bits behind the point
  constexpr double kPerLn2 = 1.4426950408889634;
  const double shifted = x * kPerLn2 + kRound;
  const double k = shifted - kRound;
  const double r = (x - k * portable_math::kLn2High) - k * portable_math::kLn2Low;
  const double r2 = r * r;
  const double r4 = r2 * r2;
  // Taylor's series to the 11th power, |r| <= ln(2) / 2.
  const double first = (1 + r) + r2 * (1.0 / 2 + r * (1.0 / 6));
  const double second = (1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720 + r * (1.0 / 5040));
  const double third = (1.0 / 40320 + r * (1.0 / 362880)) + r2 * (1.0 / 3628800 + r * (1.0 / 39916800));
  const double mantissa = first + r4 * (second + r4 * third);
  // k stands in the last bits of `shifted`, as an integer.
  return mantissa * std::bit_cast<double>((1023 + std::bit_cast<std::uint64_t>(shifted)) << 52);
}

/// ln(x) for normal x > 0, relative error of a few 2^-52, also near 1.
constexpr double portable_log(double x) {
  constexpr std::int64_t kMantissa = (std::int64_t{1} << 52) - 1;
  constexpr double kSqrt2 = 1.4142135623730951;
  const auto bits = std::bit_cast<std::int64_t>(x);
  std::int64_t exponent = (bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & kMantissa) | (std::int64_t{1023} << 52));
  if (m > kSqrt2) {
    m *= 0.5;
    ++exponent;
  }
  // ln(m) = 2 artanh(s), |s| <= 0.172.
  const double f = m - 1;
  const double s = f / (2 + f);
  const double z = s * s;
  double series = 1.0 / 23;
  for (int odd = 21; odd >= 1; odd -= 2) series = series * z + 1.0 / odd;
  const auto k = static_cast<double>(exponent);
  return k * portable_math::kLn2High + (2 * s * series + k * portable_math::kLn2Low);
}

/// Mass 1 in the integers that masses are added in: 2^18 of it fit.
inline constexpr double kMassUnit = 0x1p44;

/// exp(log_mass) in units of 1 / kMassUnit, rounded, for log_mass up to about 0.
constexpr std::uint64_t integer_mass(double log_mass) {
  constexpr double kLeast = -31.2;  // below half a unit
  if (log_mass < kLeast) return 0;
  constexpr double kHalf = 0.5;
  return static_cast<std::uint64_t>(portable_exp(log_mass) * kMassUnit + kHalf);
}

/// ln of a sum of masses, which is not 0.
constexpr double log_of_mass(std::uint64_t mass) {
  return portable_log(static_cast<double>(mass) * (1 / kMassUnit));
}

/// The least sum of masses that is at least `mass`, in [0, 1].
constexpr std::uint64_t mass_target(float mass) {
  const double units = static_cast<double>(mass) * kMassUnit;  // exact
  const auto whole = static_cast<std::uint64_t>(units);
  return whole + (static_cast<double>(whole) < units ? 1 : 0);
}

/// A random word as a number strictly between 0 and 1.
constexpr double open_uniform(std::uint32_t word) {
  const double u = (static_cast<double>(word) + 0.5) * 0x1p-32;
  constexpr double kMost = 1 - 0x1p-24;
  return u < kMost ? u : kMost;
}

/// Standard Gumbel noise, -ln(-ln(1 - u)): 1 - u is exact, so that rare tokens keep full precision.
constexpr double gumbel_noise(std::uint32_t word) {
  return -portable_log(-portable_log(1 - open_uniform(word)));
}

}  // namespace lanner
