// SPDX-License-Identifier: MIT
#include "kernels/linear/int8_linear.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/float_convert.h"

namespace lanner::kernels {
namespace {

constexpr std::size_t kVectorBytes = 64;

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

unsigned plane(const std::uint8_t* vectors, std::size_t quad, std::size_t byte, std::size_t plane_bits) {
  const std::size_t quads = 8 / plane_bits;
  return static_cast<unsigned>(vectors[quad / quads * kVectorBytes + byte]) >> (quad % quads * plane_bits) &
         ((1U << plane_bits) - 1U);
}

unsigned code_of(const std::uint8_t* unit, std::size_t bits, std::size_t output, std::size_t column) {
  const std::size_t quad = column / 4;
  const std::size_t byte = 4 * output + column % 4;
  const std::size_t low = bits == 3 ? 2 : bits == 5 || bits == 6 ? 4 : bits;
  unsigned code = plane(unit, quad, byte, low);
  if (bits > low) code |= plane(unit + low * kVectorBytes, quad, byte, bits - low) << low;
  return code;
}

float output_of(const PackedView& w, const QuantizedRows& x, std::size_t row, std::size_t n) {
  const auto group = static_cast<std::size_t>(w.spec.group);
  const auto bits = static_cast<std::size_t>(w.spec.bits);
  const std::size_t o = n % kPackedTileRows;
  const std::size_t table_bytes = kPackedTileRows * size_bytes(w.spec.dtype);
  const std::byte* tile = w.data + n / kPackedTileRows * w.tile_bytes();
  float acc = 0;
  for (std::size_t g = 0; g < w.groups(); ++g) {
    const std::byte* at = tile + g * w.group_bytes();
    const auto* units = reinterpret_cast<const std::uint8_t*>(at + 2 * table_bytes);
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < group; ++i) {
      const std::uint8_t* unit = units + i / kPackedUnitColumns * bits * kVectorBytes;
      sum += static_cast<std::int32_t>(code_of(unit, bits, o, i % kPackedUnitColumns)) *
             x.codes[row * x.columns + g * group + i];
    }
    const float product = x.scales[row * x.groups + g] * static_cast<float>(sum);
    acc = std::fma(product, read_float(at, w.spec.dtype, o), acc);
    acc = std::fma(x.sums[row * x.groups + g], read_float(at + table_bytes, w.spec.dtype, o), acc);
  }
  return acc;
}

void int8_linear_reference(const PackedView& w, const QuantizedRows& x, float* out, std::size_t out_stride,
                           std::size_t rows, std::size_t tile_begin, std::size_t tile_end) {
  const std::size_t end = std::min(w.rows, tile_end * kPackedTileRows);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t n = tile_begin * kPackedTileRows; n < end; ++n)
      out[row * out_stride + n] = output_of(w, x, row, n);
}

}  // namespace

void quantize_rows_reference(std::int8_t* codes, float* scales, float* sums, const float* x, std::size_t rows,
                             std::size_t columns, std::size_t group) {
  constexpr float kLargestCode = 127;
  for (std::size_t g = 0; g < rows * (columns / group); ++g) {
    const float* values = x + g * group;
    float largest = 0;
    for (std::size_t i = 0; i < group; ++i) largest = std::max(largest, std::abs(values[i]));
    const float inverse = largest > 0 ? kLargestCode / largest : 0;
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < group; ++i) {
      const auto code = static_cast<std::int32_t>(std::nearbyint(values[i] * inverse));
      codes[g * group + i] = static_cast<std::int8_t>(code);
      sum += code;
    }
    scales[g] = largest / kLargestCode;
    sums[g] = scales[g] * static_cast<float>(sum);
  }
}

Int8Kernels int8_kernels_reference(const WeightSpec& /*spec*/) {
  return {.linear = int8_linear_reference, .quantize_rows = quantize_rows_reference};
}

}  // namespace lanner::kernels
