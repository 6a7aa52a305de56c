// SPDX-License-Identifier: MIT
// For ISA files only: everything has internal linkage.
#pragma once

#include <cstdint>

namespace lanner::kernels {
namespace {

struct E4m3Table {
  float values[256] = {};
  constexpr E4m3Table() {
    for (int code = 0; code < 256; ++code) {
      const int exponent = code >> 3 & 15;
      float value = static_cast<float>(exponent == 0 ? code & 7 : 8 + (code & 7)) * 0x1p-9F;
      for (int e = 1; e < exponent; ++e) value *= 2;
      values[code] = code >= 128 ? -value : value;
    }
  }
};
constexpr E4m3Table kE4m3;

/// E4M3 scale of nvfp4.
inline float e4m3_scale(std::uint8_t code) { return kE4m3.values[code]; }

/// E8M0 scale of mxfp4 and mxfp8: 2^(code - 127).
inline float e8m0_scale(std::uint8_t code) {
  const std::uint32_t bits = code == 0 ? 0x00400000U : std::uint32_t{code} << 23;
  float value = 0;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace
}  // namespace lanner::kernels
