// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "engine/sampling_options.h"
#include "engine/survivors.h"

namespace lanner::engine {

/// Replaces log-probabilities by their tone curve: linear within `width` of the pivot, logarithmic beyond,
/// times gain. Monotone.
void apply_hlg(Survivors& survivors, const HlgOptions& options, float temperature);

/// A monotone cubic through points in (ln x, ln y), both probabilities in percent; linear outside. Source:
/// Fritsch and Carlson, "Monotone piecewise cubic interpolation", 1980.
class ProbabilityCurve {
 public:
  /// Throws Error kInvalidArgument for fewer than two points, equal x, values not above 0, or falling y.
  explicit ProbabilityCurve(std::vector<std::pair<float, float>> points);

  /// log-probability → value
  float operator()(float log_probability) const;

 private:
  std::vector<double> x_;
  std::vector<double> y_;
  std::vector<double> slope_;
};

}  // namespace lanner::engine
