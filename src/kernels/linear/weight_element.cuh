// SPDX-License-Identifier: MIT
// For .cu files: elements of weights in checkpoint layout.
#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/linear/weight_view.h"

namespace lanner::kernels {

__device__ inline float float_at(const void* base, std::size_t index, DType dtype) {
  if (dtype == DType::kF32) return static_cast<const float*>(base)[index];
  const std::uint16_t bits = static_cast<const std::uint16_t*>(base)[index];
  return dtype == DType::kF16 ? f16_value(bits) : bf16_value(bits);
}

__device__ inline std::uint32_t code_at(const WeightView& w, std::size_t index) {
  const std::size_t first = index * unsigned(w.spec.bits);
  const std::size_t last = first + unsigned(w.spec.bits) - 1;
  const auto* bytes = static_cast<const std::uint8_t*>(w.data);
  std::uint32_t word = bytes[first / 8];
  if (last / 8 != first / 8) word |= std::uint32_t{bytes[last / 8]} << 8;
  return (word >> (first % 8)) & ((1U << w.spec.bits) - 1U);
}

__device__ inline float e2m1_value(std::uint32_t code) {
  constexpr float kMagnitudes[8] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  return (code & 8U) != 0 ? -kMagnitudes[code & 7U] : kMagnitudes[code & 7U];
}

__device__ inline float e8m0_value(std::uint32_t code) {
  return __uint_as_float(code == 0 ? 0x00400000U : code << 23);
}

__device__ inline float e4m3_value(std::uint32_t code) {
  if ((code & 127U) == 127U) return __uint_as_float(0x7fc00000U);
  const int exponent = int(code >> 3 & 15U);
  const float magnitude =
      exponent == 0 ? float(code & 7U) * 0x1p-9F : float(8 + (code & 7U)) * exp2f(float(exponent - 10));
  return (code & 128U) != 0 ? -magnitude : magnitude;
}

/// Element (row, column) in float; affine: product rounded, then the sum.
__device__ inline float element_at(const WeightView& w, std::size_t row, std::size_t column) {
  const std::size_t index = row * w.columns + column;
  if (w.spec.format == WeightFormat::kDense) return float_at(w.data, index, w.spec.dtype);
  const std::size_t group = index / unsigned(w.spec.group);
  const std::uint32_t code = code_at(w, index);
  const auto* scales = static_cast<const std::uint8_t*>(w.scales);
  switch (w.spec.format) {
    case WeightFormat::kMxfp4:
      return e2m1_value(code) * e8m0_value(scales[group]);
    case WeightFormat::kMxfp8:
      return e4m3_value(code) * e8m0_value(scales[group]);
    case WeightFormat::kNvfp4:
      return e2m1_value(code) * e4m3_value(scales[group]);
    default:
      break;
  }
  return __fadd_rn(__fmul_rn(float_at(w.scales, group, w.spec.dtype), float(code)),
                   float_at(w.biases, group, w.spec.dtype));
}

}  // namespace lanner::kernels
