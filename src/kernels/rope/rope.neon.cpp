// SPDX-License-Identifier: MIT
#include "kernels/rope/rope.simd.h"

namespace lanner::kernels {

// Fast because: 4 pairs at once; all heads of a row reuse one row of the tables.
void rope_neon(std::span<float> x, std::span<const float> cos, std::span<const float> sin,
               const RopeShape& shape) {
  rope_rows(x.data(), x.size(), cos.data(), sin.data(), shape);
}

}  // namespace lanner::kernels
