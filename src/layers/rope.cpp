// SPDX-License-Identifier: MIT
#include "layers/rope.h"

#include <cmath>

namespace lanner::layers {
namespace {

std::int32_t index_on(Rope::Axis axis, const Position& position) {
  switch (axis) {
    case Rope::Axis::kTime:
      return position.time;
    case Rope::Axis::kHeight:
      return position.height;
    case Rope::Axis::kWidth:
      return position.width;
  }
  return position.time;
}

}  // namespace

Rope::Rope(std::size_t head_dim, std::size_t pair_offset, std::vector<float> inverse_frequencies,
           float amplitude)
    : shape_{.head_dim = head_dim, .frequencies = inverse_frequencies.size(), .pair_offset = pair_offset},
      inverse_frequencies_(std::move(inverse_frequencies)),
      axes_(inverse_frequencies_.size(), Axis::kTime),
      amplitude_(amplitude) {}

RopeTables Rope::tables(Step& step, const Packing& rows) const {
  const Shape shape{static_cast<std::int64_t>(rows.rows()), static_cast<std::int64_t>(shape_.frequencies)};
  const RopeTables tables{step.floats(shape), step.floats(shape)};
  for (std::size_t t = 0; t < rows.rows(); ++t) {
    const auto cos = tables.cos.row(t);
    const auto sin = tables.sin.row(t);
    for (std::size_t f = 0; f < shape_.frequencies; ++f) {
      const auto index = static_cast<float>(index_on(axes_[f], rows.rope_positions[t]));
      const float angle = index * inverse_frequencies_[f];
      cos[f] = std::cos(angle) * amplitude_;
      sin[f] = std::sin(angle) * amplitude_;
    }
  }
  return tables;
}

void Rope::rotate(Step& step, const Tensor& x, const RopeTables& tables) const {
  step.ops.rope(step.stream, x, tables.cos, tables.sin, shape_);
}

std::vector<float> inverse_frequencies(double theta, std::size_t count, std::size_t denominator) {
  std::vector<float> frequencies(count);
  for (std::size_t j = 0; j < count; ++j) {
    const float exponent = static_cast<float>(2 * j) / static_cast<float>(denominator);
    frequencies[j] = 1.0F / std::pow(static_cast<float>(theta), exponent);
  }
  return frequencies;
}

}  // namespace lanner::layers
