// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace lanner::test {

/// Largest |got - want| / |want| over the elements; equal elements (also infinities) count 0, a NaN on one
/// side or a length mismatch counts infinity. Not for sums that cancel: see max_scaled_error.
inline double max_relative_error(std::span<const float> got, std::span<const float> want) {
  if (got.size() != want.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))) continue;
    const double error = std::abs(double(got[i]) - double(want[i])) / std::abs(double(want[i]));
    worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
  }
  return worst;
}

/// Largest |got - want| over the largest |want|: the error measure for sums whose terms may cancel.
inline double max_scaled_error(std::span<const float> got, std::span<const float> want) {
  if (got.size() != want.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  double scale = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(double(got[i]) - double(want[i]));
    if (std::isnan(error)) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, error);
    scale = std::max(scale, std::abs(double(want[i])));
  }
  if (worst == 0) return 0;
  return worst / scale;
}

}  // namespace lanner::test
