// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

namespace lanner::quantize {

/// w is about scale * code + bias. Scale and bias are unrounded; files store them in the dtype of w.
struct AffineGroup {
  float scale = 0;
  float bias = 0;
};

/// Codes 0 to 2^bits - 1 for one group of finite weights, in float32 arithmetic with true division. The edge
/// of larger magnitude is represented exactly and zero lands on the grid when the group spans it; scale is
/// negative when the positive edge dominates. Codes come from the unrounded scale and bias. codes has the
/// size of w. Source: MLX 0.32.2, affine quantize of the CPU backend.
AffineGroup quantize_affine_group(std::span<std::uint8_t> codes, std::span<const float> w, int bits);

}  // namespace lanner::quantize
