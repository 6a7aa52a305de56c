// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kernels/simd/lanes.h"
#include "kernels/simd/vec_math.h"

namespace lanner::kernels {
namespace {

// Four independent accumulators hide the latency of the FMA; vector i goes to accumulator i mod 4.
inline float sum_of_squares(const float* x, std::size_t dim) {
  Vec sums[4] = {splat(0), splat(0), splat(0), splat(0)};
  const std::size_t whole = dim - dim % (4 * kLanes);
  for (std::size_t i = 0; i < whole; i += 4 * kLanes)
    for (std::size_t j = 0; j < 4; ++j) {
      const Vec v = load(x + i + j * kLanes);
      sums[j] = fma(v, v, sums[j]);
    }
  for_vectors(dim - whole, [&](std::size_t i, auto lanes) {
    const Vec v = lanes.load(x + whole + i);
    sums[i / kLanes] = fma(v, v, sums[i / kLanes]);
  });
  return sum_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

inline float mean_scale(const float* x, std::size_t dim, float eps) {
  return 1 / __builtin_sqrtf(sum_of_squares(x, dim) / static_cast<float>(dim) + eps);
}

inline void scale_row(float* out, const float* x, std::size_t dim, float scale) {
  const Vec s = splat(scale);
  for_vectors(dim, [&](std::size_t i, auto lanes) { lanes.store(out + i, lanes.load(x + i) * s); });
}

inline void rms_norm_rows(float* out, const float* x, std::size_t count, const float* w, std::size_t dim,
                          float eps) {
  for (std::size_t row = 0; row < count; row += dim) {
    const Vec s = splat(mean_scale(x + row, dim, eps));
    for_vectors(dim, [&](std::size_t i, auto lanes) {
      lanes.store(out + row + i, lanes.load(x + row + i) * s * lanes.load(w + i));
    });
  }
}

inline void rms_norm_plain_rows(float* out, const float* x, std::size_t count, std::size_t dim, float eps) {
  for (std::size_t row = 0; row < count; row += dim)
    scale_row(out + row, x + row, dim, mean_scale(x + row, dim, eps));
}

inline void l2_norm_rows(float* out, const float* x, std::size_t count, std::size_t dim, float eps,
                         float scale) {
  for (std::size_t row = 0; row < count; row += dim)
    scale_row(out + row, x + row, dim, scale / __builtin_sqrtf(sum_of_squares(x + row, dim) + eps));
}

inline void gated_rms_norm_rows(float* out, const float* x, std::size_t count, const float* z, const float* w,
                                std::size_t dim, float eps) {
  for (std::size_t row = 0; row < count; row += dim) {
    const Vec s = splat(mean_scale(x + row, dim, eps));
    for_vectors(dim, [&](std::size_t i, auto lanes) {
      const Vec normed = lanes.load(x + row + i) * s * lanes.load(w + i);
      lanes.store(out + row + i, normed * vec_silu(lanes.load(z + row + i)));
    });
  }
}

}  // namespace
}  // namespace lanner::kernels
