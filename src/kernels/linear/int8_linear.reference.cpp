// SPDX-License-Identifier: MIT
#include "kernels/linear/int8_linear.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/float_convert.h"
#include "kernels/linear/weight_element.h"

namespace lanner::kernels {
namespace {

float read_float(const std::byte* table, DType dtype, std::size_t index) {
  if (dtype == DType::kF32) {
    float value = 0;
    std::memcpy(&value, table + index * sizeof(value), sizeof(value));
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, table + index * sizeof(bits), sizeof(bits));
  return dtype == DType::kBF16 ? bf16_to_float(bits) : f16_to_float(bits);
}

unsigned code_of(const std::uint8_t* unit, int bits, std::size_t output, std::size_t column) {
  unsigned code = 0;
  for (const PackedPiece& piece : packed_quad(bits, static_cast<int>(column / 4)).pieces) {
    const std::size_t byte =
        static_cast<std::size_t>(piece.vector) * kPackedVectorBytes + 4 * output + column % 4;
    code |= (static_cast<unsigned>(unit[byte]) >> piece.at & ((1U << piece.width) - 1U)) << piece.from;
  }
  return code;
}

/// sum_k of a group's activation codes times the weight's integers.
template <typename Integer>
std::int32_t group_sum(const std::int8_t* q, const std::byte* codes, const WeightSpec& spec,
                       std::size_t output, Integer&& integer) {
  const auto* units = reinterpret_cast<const std::uint8_t*>(codes);
  const std::size_t unit_bytes = static_cast<std::size_t>(spec.bits) * kPackedVectorBytes;
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(spec.group); ++i) {
    const std::uint8_t* unit = units + i / kPackedUnitColumns * unit_bytes;
    sum += integer(code_of(unit, spec.bits, output, i % kPackedUnitColumns)) * q[i];
  }
  return sum;
}

float affine_output(const PackedView& w, const QuantizedRows& x, std::size_t row, std::size_t n) {
  const auto group = static_cast<std::size_t>(w.spec.group);
  const std::size_t o = n % kPackedTileRows;
  const std::byte* tile = w.data + n / kPackedTileRows * w.tile_bytes();
  const auto as_it_is = [](unsigned code) { return static_cast<std::int32_t>(code); };
  float acc = 0;
  for (std::size_t g = 0; g < w.groups(); ++g) {
    const std::byte* scales = tile + g * w.group_bytes();
    const std::byte* biases = scales + w.group_table_bytes() / 2;
    const std::int32_t sum =
        group_sum(x.codes + row * x.columns + g * group, scales + w.group_table_bytes(), w.spec, o, as_it_is);
    const float product = x.scales[row * x.groups + g] * static_cast<float>(sum);
    acc = std::fma(product, read_float(scales, w.spec.dtype, o), acc);
    acc = std::fma(x.sums[row * x.groups + g], read_float(biases, w.spec.dtype, o), acc);
  }
  return acc;
}

float fp4_output(const PackedView& w, const QuantizedRows& x, std::size_t row, std::size_t n) {
  const bool is_mxfp4 = w.spec.format == WeightFormat::kMxfp4;
  const auto group = static_cast<std::size_t>(w.spec.group);
  const std::size_t o = n % kPackedTileRows;
  const std::byte* tile = w.data + n / kPackedTileRows * w.tile_bytes();
  const auto twice = [](unsigned code) { return static_cast<std::int32_t>(2 * e2m1_to_float(code)); };
  float acc = 0;
  for (std::size_t g = 0; g < w.groups(); ++g) {
    const std::int32_t sum = group_sum(x.codes + row * x.columns + g * group,
                                       tile + w.codes_offset() + g * w.group_code_bytes(), w.spec, o, twice);
    const auto code = static_cast<std::uint8_t>(tile[g * w.group_table_bytes() + o]);
    const float scale = is_mxfp4 ? e8m0_to_float(code) : f8_e4m3_to_float(code) * 0x1p-8F;
    acc = std::fma(x.scales[row * x.groups + g] * static_cast<float>(sum), scale, acc);
  }
  return (is_mxfp4 ? 0.5F : 0x1p7F) * acc;
}

void int8_linear_reference(const PackedView& w, const QuantizedRows& x, float* out, std::size_t out_stride,
                           std::size_t rows, std::size_t tile_begin, std::size_t tile_end) {
  const std::size_t end = std::min(w.rows, tile_end * kPackedTileRows);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t n = tile_begin * kPackedTileRows; n < end; ++n)
      out[row * out_stride + n] = w.is_fp4() ? fp4_output(w, x, row, n) : affine_output(w, x, row, n);
}

}  // namespace

void quantize_rows_reference(const QuantizedTarget& to, const float* x, std::size_t rows, std::size_t columns,
                             std::size_t group) {
  constexpr float kLargestCode = 127;
  for (std::size_t g = 0; g < rows * (columns / group); ++g) {
    const float* values = x + g * group;
    float largest = 0;
    for (std::size_t i = 0; i < group; ++i) largest = std::max(largest, std::abs(values[i]));
    const float inverse = largest > 0 ? kLargestCode / largest : 0;
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < group; ++i) {
      const auto code = static_cast<std::int32_t>(std::nearbyint(values[i] * inverse));
      to.codes[g * group + i] = static_cast<std::int8_t>(code);
      sum += code;
    }
    to.scales[g] = largest / kLargestCode;
    to.sums[g] = to.scales[g] * static_cast<float>(sum);
    to.offsets[g] = -kFp4Zero * sum;
  }
}

Int8Kernels int8_kernels_reference(const WeightSpec& /*spec*/) {
  return {.linear = int8_linear_reference, .quantize_rows = quantize_rows_reference};
}

}  // namespace lanner::kernels
