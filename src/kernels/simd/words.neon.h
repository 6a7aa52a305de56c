// SPDX-License-Identifier: MIT
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "kernels/simd/vec.h"

// The meaning of each function is documented in words.avx2.h.
namespace lanner::kernels {
namespace {

using Words = int32x4_t;

inline Words no_words() { return vdupq_n_s32(0); }
inline Words load_words(const std::int32_t* from) { return vld1q_s32(from); }
inline void store_words(std::int32_t* to, Words w) { vst1q_s32(to, w); }
inline void keep_in_register(Words& w) { asm("" : "+w"(w)); }
inline Words splat_word(const std::int32_t* from) { return vld1q_dup_s32(from); }

inline Words rounded(Vec v) { return vcvtnq_s32_f32(v); }
inline Vec to_float(Words w) { return vcvtq_f32_s32(w); }

inline Words join(Words low, Words high) { return vsliq_n_s32(low, high, 16); }
inline Words bits_of(Vec v) { return vreinterpretq_s32_f32(v); }

struct Pairs {
  Vec even;
  Vec odd;
};
inline Pairs load_pairs(const std::uint16_t* from) {
  const uint32x4_t both = vreinterpretq_u32_u16(vld1q_u16(from));
  return {vreinterpretq_f32_u32(vshlq_n_u32(both, 16)),
          vreinterpretq_f32_u32(vandq_u32(both, vdupq_n_u32(0xffff0000U)))};
}
inline Pairs load_pairs(const float* from) {
  const float32x4x2_t both = vld2q_f32(from);
  return {both.val[0], both.val[1]};
}

inline Words add_products(Words sum, Words a, Words b) {
  const int16x8_t x = vreinterpretq_s16_s32(a);
  const int16x8_t y = vreinterpretq_s16_s32(b);
  const int32x4_t low = vmull_s16(vget_low_s16(x), vget_low_s16(y));
  return vaddq_s32(sum, vpaddq_s32(low, vmull_high_s16(x, y)));
}

[[gnu::always_inline]] inline void store_word_sums(std::int32_t* to, const Words* sums) {
  store_words(to, vpaddq_s32(vpaddq_s32(sums[0], sums[1]), vpaddq_s32(sums[2], sums[3])));
}

inline Words larger_magnitudes(Words largest, const std::uint16_t* from) {
  const uint16x8_t bits = vandq_u16(vld1q_u16(from), vdupq_n_u16(0x7fff));
  return vreinterpretq_s32_u16(vmaxq_u16(vreinterpretq_u16_s32(largest), bits));
}
inline float largest_of(Words magnitudes) {
  const std::uint32_t bits = vmaxvq_u16(vreinterpretq_u16_s32(magnitudes));
  return __builtin_bit_cast(float, bits << 16);
}

}  // namespace
}  // namespace lanner::kernels
