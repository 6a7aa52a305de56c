// SPDX-License-Identifier: MIT
#include "layers/rope.h"

#include <cmath>

namespace lanner::layers {
Rope::Rope(std::size_t head_dim, std::size_t pair_offset, std::vector<float> inverse_frequencies,
           float amplitude)
    : shape_{.head_dim = head_dim, .frequencies = inverse_frequencies.size(), .pair_offset = pair_offset},
      inverse_frequencies_(std::move(inverse_frequencies)),
      axes_(inverse_frequencies_.size(), static_cast<std::uint8_t>(Axis::kTime)),
      amplitude_(amplitude) {}

void Rope::set_axes(std::span<const Axis> axes) {
  axes_.clear();
  for (Axis axis : axes) axes_.push_back(static_cast<std::uint8_t>(axis));
}

RopeTables Rope::tables(Step& step, const Packing& rows) const {
  const Shape shape{static_cast<std::int64_t>(rows.rows()), static_cast<std::int64_t>(shape_.frequencies)};
  const RopeTables tables{step.floats(shape), step.floats(shape)};
  if (shape_.frequencies == 0) return tables;
  std::vector<std::array<std::int32_t, 3>> positions;
  for (const Position& p : rows.rope_positions) positions.push_back({p.time, p.height, p.width});
  step.ops.rope_tables(step.stream, tables.cos, tables.sin,
                       {.inverse_frequencies = inverse_frequencies_,
                        .axes = axes_,
                        .positions = positions,
                        .amplitude = amplitude_});
  return tables;
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
