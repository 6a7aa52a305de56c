// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention/kv_type.h"
#include "kernels/simd/lanes.h"

namespace lanner::kernels {
namespace {

/// Sixteen elements of a group, from element 16 * Part on, as code * scale + bias. 6 bits: low 4 from the
/// nibbles, high 2 from the bytes after them.
template <int Bits, std::size_t Part, typename Lanes>
inline void widen_codes(float* to, const std::uint8_t* group, std::size_t i, Vec scale, Vec bias,
                        Lanes lanes) {
  Vec code;
  if constexpr (Bits == 8) {
    code = load_bits<0, 0xff>(group + 16 * Part + i);
  } else {
    code = load_bits<Part / 2 * 4, 0xf>(group + Part % 2 * 16 + i);
    if constexpr (Bits == 6) code = fma(load_bits<Part * 2, 3>(group + 32 + i), splat(16), code);
  }
  lanes.store(to + 16 * Part + i, fma(code, scale, bias));
}

/// The first `count` of a group's 64 elements.
template <int Bits, std::size_t Part = 0>
inline void widen_group(float* to, const std::uint8_t* group, std::size_t count, Vec scale, Vec bias) {
  const std::size_t mine = count < 16 * Part ? 0 : count - 16 * Part < 16 ? count - 16 * Part : 16;
  for_vectors(mine,
              [&](std::size_t i, auto lanes) { widen_codes<Bits, Part>(to, group, i, scale, bias, lanes); });
  if constexpr (Part < 3) widen_group<Bits, Part + 1>(to, group, count, scale, bias);
}

inline float widen_scalar(std::uint16_t bits) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
}

/// How the rows of one head of a block become memory that vectors are loaded from: in place, or widened
/// first.
struct FloatRows {
  const float* operator()(const std::byte* head, std::size_t, std::size_t, float*) const {
    return reinterpret_cast<const float*>(head);
  }
};

struct Bf16Rows {
  const std::uint16_t* operator()(const std::byte* head, std::size_t, std::size_t, float*) const {
    return reinterpret_cast<const std::uint16_t*>(head);
  }
};

template <int Bits>
struct AffineRows {
  KvLayout layout;

  /// Rows [low, high) of head, written to their places in scratch [64, head_dim].
  const float* operator()(const std::byte* head, std::size_t low, std::size_t high, float* scratch) const {
    const std::size_t dim = layout.head_dim;
    const std::size_t groups = (dim + kKvGroup - 1) / kKvGroup;
    const std::size_t group_bytes = kKvGroup / 8 * Bits;
    const auto* scales = reinterpret_cast<const std::uint16_t*>(head + kKvBlock * groups * group_bytes);
    for (std::size_t place = low; place < high; ++place) {
      const auto* row = reinterpret_cast<const std::uint8_t*>(head) + place * groups * group_bytes;
      for (std::size_t group = 0; group < groups; ++group) {
        const std::uint16_t* pair = scales + (place * groups + group) * 2;
        const std::size_t rest = dim - group * kKvGroup;
        widen_group<Bits>(scratch + place * dim + group * kKvGroup, row + group * group_bytes,
                          rest < kKvGroup ? rest : kKvGroup, splat(widen_scalar(pair[0])),
                          splat(widen_scalar(pair[1])));
      }
    }
    return scratch;
  }
};

}  // namespace
}  // namespace lanner::kernels
