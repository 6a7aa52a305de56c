// SPDX-License-Identifier: MIT
#include "quantize/float_elements.h"

#include <cassert>
#include <cmath>
#include <cstring>

#include "core/float_convert.h"

namespace lanner::quantize {
namespace {

std::uint16_t load_half(const void* base, std::size_t index) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, static_cast<const std::byte*>(base) + index * sizeof bits, sizeof bits);
  return bits;
}

}  // namespace

bool is_float(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16; }

float load_float(const void* base, std::size_t index, DType dtype) {
  assert(is_float(dtype));
  if (dtype == DType::kBF16) return bf16_to_float(load_half(base, index));
  if (dtype == DType::kF16) return f16_to_float(load_half(base, index));
  float value = 0;
  std::memcpy(&value, static_cast<const std::byte*>(base) + index * sizeof value, sizeof value);
  return value;
}

void store_float(void* base, std::size_t index, float value, DType dtype) {
  assert(is_float(dtype));
  if (dtype == DType::kF32) {
    std::memcpy(static_cast<std::byte*>(base) + index * sizeof value, &value, sizeof value);
    return;
  }
  const std::uint16_t bits = dtype == DType::kBF16 ? float_to_bf16(value) : float_to_f16(value);
  std::memcpy(static_cast<std::byte*>(base) + index * sizeof bits, &bits, sizeof bits);
}

void load_floats(std::span<float> out, std::span<const std::byte> bytes, DType from, DType to) {
  assert(bytes.size() == out.size() * size_bytes(from));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = load_float(bytes.data(), i, from);
  if (from == to) return;
  for (float& value : out) {
    if (to == DType::kBF16) value = round_to_bf16(value);
    if (to == DType::kF16) value = f16_to_float(float_to_f16(value));
  }
}

std::size_t find_not_finite(std::span<const float> values) {
  std::size_t i = 0;
  while (i < values.size() && std::isfinite(values[i])) ++i;
  return i;
}

}  // namespace lanner::quantize
