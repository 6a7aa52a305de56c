// SPDX-License-Identifier: MIT
#include <cassert>
#include <cstring>

#include "core/float_convert.h"
#include "kernels/linear/linear_isa.h"
#include "kernels/linear/weight_element.h"

namespace lanner::kernels {
namespace {

template <typename T>
T load(const void* base, std::size_t index) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(base) + index * sizeof(T), sizeof(T));
  return value;
}

float load_float(const void* base, std::size_t index, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return load<float>(base, index);
    case DType::kF16:
      return f16_to_float(load<std::uint16_t>(base, index));
    default:
      assert(dtype == DType::kBF16);
      return bf16_to_float(load<std::uint16_t>(base, index));
  }
}

void dequantize_row_reference(float* out, const WeightView& w, std::size_t row) {
  for (std::size_t k = 0; k < w.columns; ++k) out[k] = weight_element(w, row, k);
}

void linear_reference(const WeightView& w, const LinearArgs& args) {
  for (std::size_t n = args.column_begin; n < args.column_end; ++n) {
    dequantize_row_reference(args.scratch, w, n);
    for (std::size_t r = 0; r < args.rows; ++r) {
      double sum = 0;
      for (std::size_t k = 0; k < w.columns; ++k)
        sum += double(args.x[r * args.x_stride + k]) * args.scratch[k];
      args.out[r * args.out_stride + n] = float(sum);
    }
  }
}

}  // namespace

std::uint32_t unpack_code(const std::uint8_t* row, std::size_t index, int bits) {
  const std::size_t first = index * static_cast<std::size_t>(bits);
  const std::size_t last = first + static_cast<std::size_t>(bits) - 1;
  std::uint32_t word = row[first / 8];
  if (last / 8 != first / 8) word |= std::uint32_t{row[last / 8]} << 8;
  return (word >> (first % 8)) & ((1U << bits) - 1U);
}

float e2m1_to_float(std::uint32_t code) {
  constexpr float kMagnitudes[8] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  return (code & 8U) != 0 ? -kMagnitudes[code & 7U] : kMagnitudes[code & 7U];
}

float e8m0_to_float(std::uint8_t code) {
  return std::bit_cast<float>(code == 0 ? 0x00400000U : std::uint32_t{code} << 23);
}

float weight_element(const WeightView& w, std::size_t row, std::size_t column) {
  const std::size_t index = row * w.columns + column;
  if (w.spec.format == WeightFormat::kDense) return load_float(w.data, index, w.spec.dtype);
  const std::size_t group = index / static_cast<std::size_t>(w.spec.group);
  const auto* codes = static_cast<const std::uint8_t*>(w.data);
  const std::uint32_t code = unpack_code(codes, index, w.spec.bits);
  const std::uint8_t scale_code =
      w.spec.format == WeightFormat::kAffine ? std::uint8_t{0} : load<std::uint8_t>(w.scales, group);
  switch (w.spec.format) {
    case WeightFormat::kMxfp4:
      return e2m1_to_float(code) * e8m0_to_float(scale_code);
    case WeightFormat::kMxfp8:
      return f8_e4m3_to_float(static_cast<std::uint8_t>(code)) * e8m0_to_float(scale_code);
    case WeightFormat::kNvfp4:
      return e2m1_to_float(code) * f8_e4m3_to_float(scale_code);
    default:
      break;
  }
  const float product = load_float(w.scales, group, w.spec.dtype) * static_cast<float>(code);
  return product + load_float(w.biases, group, w.spec.dtype);
}

LinearKernels linear_kernels_reference(const WeightSpec& /*spec*/) {
  return {linear_reference, dequantize_row_reference};
}

}  // namespace lanner::kernels
