// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kernels/rope/rope.h"
#include "kernels/simd/lanes.h"

namespace lanner::kernels {
namespace {

inline void rope_head(float* x, const float* cos, const float* sin, const RopeShape& shape) {
  float* pair = x + shape.pair_offset;
  for_vectors(shape.frequencies, [&](std::size_t j, auto lanes) {
    const Vec first = lanes.load(x + j);
    const Vec second = lanes.load(pair + j);
    const Vec c = lanes.load(cos + j);
    const Vec s = lanes.load(sin + j);
    lanes.store(x + j, fnma(second, s, first * c));
    lanes.store(pair + j, fma(first, s, second * c));
  });
}

inline void rope_rows(float* x, std::size_t count, const float* cos, const float* sin,
                      const RopeShape& shape) {
  const std::size_t row_floats = shape.heads * shape.head_dim;
  for (std::size_t begin = 0; begin < count; begin += row_floats) {
    for (std::size_t head = 0; head < shape.heads; ++head)
      rope_head(x + begin + head * shape.head_dim, cos, sin, shape);
    cos += shape.frequencies;
    sin += shape.frequencies;
  }
}

}  // namespace
}  // namespace lanner::kernels
