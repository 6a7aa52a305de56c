// SPDX-License-Identifier: MIT
#include "engine/tone_curve.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace lanner::engine {
namespace {

/// ln of the probability at which half of the mass lies above.
double median_log_probability(Survivors& survivors) {
  double mass = 0;
  for (const Candidate& candidate : survivors.likeliest(survivors.all().size())) {
    mass += std::exp(double(candidate.value));
    if (mass >= 0.5) return double(candidate.value);
  }
  return double(survivors.top().value);
}

double pivot(Survivors& survivors, const HlgOptions& options) {
  double base = double(survivors.top().value);
  if (options.pivot == HlgOptions::Pivot::kMedian) base = median_log_probability(survivors);
  if (options.pivot == HlgOptions::Pivot::kEntropy) {
    base = 0;
    for (const Candidate& candidate : survivors.all())
      base += std::exp(double(candidate.value)) * double(candidate.value);
  }
  return base - double(options.pivot_offset);
}

}  // namespace

void apply_hlg(Survivors& survivors, const HlgOptions& options, float temperature) {
  survivors.subtract(survivors.log_total());
  const double mu = pivot(survivors, options);
  const double gain = options.gain > 0 ? double(options.gain) : 1 / double(temperature);
  const double width = double(options.width);
  const double shoulder = double(options.shoulder);
  const double toe = double(options.toe);
  survivors.transform([&](float l) {
    const double z = double(l) - mu;
    if (z > width && shoulder > 0)
      return static_cast<float>(gain * (width + shoulder * std::log1p((z - width) / shoulder)));
    if (z < -width && toe > 0)
      return static_cast<float>(-gain * (width + toe * std::log1p((-z - width) / toe)));
    return static_cast<float>(gain * z);
  });
}

ProbabilityCurve::ProbabilityCurve(std::vector<std::pair<float, float>> points) {
  std::ranges::sort(points);
  for (const auto& [x, y] : points) {
    if (!(x > 0) || !(y > 0))
      throw Error(ErrorKind::kInvalidArgument, "a point of the curve is not above 0 percent");
    x_.push_back(std::log(double(x)));
    y_.push_back(std::log(double(y)));
  }
  const std::size_t n = x_.size();
  if (n < 2) throw Error(ErrorKind::kInvalidArgument, "the curve has fewer than two points");
  std::vector<double> width;
  std::vector<double> secant;
  for (std::size_t i = 0; i + 1 < n; ++i) {
    width.push_back(x_[i + 1] - x_[i]);
    secant.push_back((y_[i + 1] - y_[i]) / width[i]);
    if (!(width[i] > 0) || secant[i] < 0)
      throw Error(ErrorKind::kInvalidArgument, "the curve does not rise from point to point");
  }
  slope_.assign(n, 0);
  slope_.front() = secant.front();
  slope_.back() = secant.back();
  for (std::size_t i = 1; i + 1 < n; ++i) {
    if (secant[i - 1] * secant[i] <= 0) continue;
    const double w1 = 2 * width[i] + width[i - 1];
    const double w2 = width[i] + 2 * width[i - 1];
    slope_[i] = (w1 + w2) / (w1 / secant[i - 1] + w2 / secant[i]);
  }
}

float ProbabilityCurve::operator()(float log_probability) const {
  const double x = double(log_probability) + std::log(100.0);
  if (x <= x_.front())
    return static_cast<float>(y_.front() + std::max(slope_.front(), 1.0) * (x - x_.front()));
  if (x >= x_.back()) return static_cast<float>(y_.back() + slope_.back() * (x - x_.back()));
  const std::size_t i = static_cast<std::size_t>(std::ranges::upper_bound(x_, x) - x_.begin()) - 1;
  const double h = x_[i + 1] - x_[i];
  const double t = (x - x_[i]) / h;
  const double t2 = t * t;
  const double t3 = t2 * t;
  return static_cast<float>((2 * t3 - 3 * t2 + 1) * y_[i] + (t3 - 2 * t2 + t) * h * slope_[i] +
                            (3 * t2 - 2 * t3) * y_[i + 1] + (t3 - t2) * h * slope_[i + 1]);
}

}  // namespace lanner::engine
