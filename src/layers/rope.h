// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "layers/step.h"

namespace lanner::layers {

/// Cosines and sines of one step's rows, [rows, F].
struct RopeTables {
  Tensor cos;
  Tensor sin;
};

/// One kind of rotary embedding: frequencies, the axis each reads, and which elements pair up. Without
/// frequencies (a partial rotary factor of 0) nothing turns.
class Rope {
 public:
  /// Which of a position's indices a frequency turns by.
  enum class Axis : std::uint8_t { kTime, kHeight, kWidth };

  Rope() = default;
  /// `pair_offset` elements apart are rotated together; cos and sin are multiplied by `amplitude`.
  Rope(std::size_t head_dim, std::size_t pair_offset, std::vector<float> inverse_frequencies,
       float amplitude = 1);

  /// Makes frequencies read the axes of an image grid (Qwen's interleaved mRoPE).
  void set_axes(std::span<const Axis> axes);

  /// Angles position * inverse frequency in float, as the reference computes them.
  RopeTables tables(Step& step, const Packing& rows) const;
  const device::RopeShape& shape() const { return shape_; }

 private:
  device::RopeShape shape_;
  std::vector<float> inverse_frequencies_;
  std::vector<std::uint8_t> axes_;  ///< an Axis each
  float amplitude_ = 1;
};

/// theta^(-2j/denominator) for j < count, evaluated in float like the reference.
std::vector<float> inverse_frequencies(double theta, std::size_t count, std::size_t denominator);

}  // namespace lanner::layers
