// SPDX-License-Identifier: MIT
#include "quantize/affine_group.h"

#include <algorithm>
#include <cmath>

namespace lanner::quantize {
namespace {

constexpr float kEpsilon = 1e-7F;
/// Adding and subtracting it rounds 0 <= x < 2^22 to an integer, half to even, and vectorizes.
constexpr float kRounder = 0x1.8p23F;

AffineGroup choose(float low, float high, float levels) {
  const float span = std::max((high - low) / levels, kEpsilon);
  const bool low_dominates = std::abs(low) > std::abs(high);
  const float edge = low_dominates ? low : high;
  const float step = low_dominates ? span : -span;
  const float edge_code = std::nearbyint(edge / step);
  if (edge_code == 0) return {step, 0};
  return {edge / edge_code, edge};
}

}  // namespace

AffineGroup quantize_affine_group(std::span<std::uint8_t> codes, std::span<const float> w, int bits) {
  const auto [low, high] = std::minmax_element(w.begin(), w.end());
  const auto levels = static_cast<float>((1 << bits) - 1);
  const AffineGroup group = choose(*low, *high, levels);
  for (std::size_t i = 0; i < w.size(); ++i) {
    // Clamping first gives the same code and keeps the rounding trick in its range.
    const float code = std::min(std::max((w[i] - group.bias) / group.scale, 0.0F), levels);
    codes[i] = static_cast<std::uint8_t>((code + kRounder) - kRounder);
  }
  return group;
}

}  // namespace lanner::quantize
