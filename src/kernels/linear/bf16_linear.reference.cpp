// SPDX-License-Identifier: MIT
#include "kernels/linear/bf16_linear.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "core/float_convert.h"

namespace lanner::kernels {
namespace {

constexpr std::size_t kLanes = 16;

/// Numbers below the smallest normal one become zeros of their sign.
float flushed(float value) {
  return std::abs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0F, value) : value;
}

float flushed_fma(float a, float b, float c) { return flushed(std::fma(flushed(a), flushed(b), flushed(c))); }

float dot(const std::uint16_t* x, const std::uint16_t* w, std::size_t columns) {
  float lanes[kLanes] = {};
  const auto add = [&](float& lane, std::size_t k) {
    const bool inside = k < columns;
    lane = flushed_fma(inside ? bf16_to_float(w[k]) : 0, inside ? bf16_to_float(x[k]) : 0, lane);
  };
  for (std::size_t k = 0; k < columns; k += 2 * kLanes)
    for (std::size_t i = 0; i < kLanes; ++i) {
      add(lanes[i], k + 2 * i + 1);
      add(lanes[i], k + 2 * i);
    }
  for (std::size_t half = kLanes / 2; half != 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

}  // namespace

void round_bf16_reference(std::uint16_t* to, const float* x, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = float_to_bf16(flushed(x[i]));
}

void bf16_linear_reference(const WeightView& w, const std::uint16_t* x, float* out, std::size_t out_stride,
                           std::size_t rows) {
  const auto* weights = static_cast<const std::byte*>(w.data);
  for (std::size_t n = 0; n < w.rows; ++n)
    for (std::size_t r = 0; r < rows; ++r) {
      const auto* row = reinterpret_cast<const std::uint16_t*>(weights + n * w.columns * sizeof(*x));
      out[r * out_stride + n] = dot(x + r * w.columns, row, w.columns);
    }
}

}  // namespace lanner::kernels
