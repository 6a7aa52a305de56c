// SPDX-License-Identifier: MIT
#include "kernels/rope/rope.h"

namespace lanner::kernels {

void rope_reference(std::span<float> x, std::span<const float> cos, std::span<const float> sin,
                    const RopeShape& shape) {
  const std::size_t row_floats = shape.heads * shape.head_dim;
  for (std::size_t row = 0; row * row_floats < x.size(); ++row) {
    const auto row_cos = cos.subspan(row * shape.frequencies, shape.frequencies);
    const auto row_sin = sin.subspan(row * shape.frequencies, shape.frequencies);
    for (std::size_t head = 0; head < shape.heads; ++head) {
      const auto h = x.subspan(row * row_floats + head * shape.head_dim, shape.head_dim);
      for (std::size_t j = 0; j < shape.frequencies; ++j) {
        const double first = double(h[j]);
        const double second = double(h[j + shape.pair_offset]);
        h[j] = float(first * double(row_cos[j]) - second * double(row_sin[j]));
        h[j + shape.pair_offset] = float(second * double(row_cos[j]) + first * double(row_sin[j]));
      }
    }
  }
}

}  // namespace lanner::kernels
