// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

namespace lanner::kernels {

/// Rotates pairs (j, j + pair_offset) for j < F of every head by the angle whose cosine and sine stand in the
/// tables:
///   x[j] = x[j]*cos[j] - x[j+o]*sin[j];  x[j+o] = x[j+o]*cos[j] + x[j]*sin[j].   Other elements stay.
/// One form serves "default" rotary (F = D/2, o = D/2), Gemma 4 "proportional" (F < D/2, o = D/2) and Qwen's
/// partial rotary (o = F = rotary_dim/2). x [T, heads, D] in place; cos, sin [T, F]. batch-invariant: yes
/// (element-wise).
struct RopeShape {
  std::size_t heads = 0;
  std::size_t head_dim = 0;
  std::size_t frequencies = 0;  ///< F
  std::size_t pair_offset = 0;  ///< o, F <= o, o + F <= head_dim
};
using RopeFn = void(std::span<float> x, std::span<const float> cos, std::span<const float> sin,
                    const RopeShape& shape);
RopeFn rope_reference, rope_avx2, rope_avx512, rope_neon;

}  // namespace lanner::kernels
