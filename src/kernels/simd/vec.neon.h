// SPDX-License-Identifier: MIT
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

// The meaning of each function is documented in vec.avx2.h.
namespace lanner::kernels {
namespace {

using Vec = float32x4_t;
inline constexpr std::size_t kLanes = 4;

inline Vec splat(float value) { return vdupq_n_f32(value); }

inline Vec load(const float* from) { return vld1q_f32(from); }
inline void store(float* to, Vec v) { vst1q_f32(to, v); }

inline Vec load(const std::uint16_t* from) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(from), 16)); }

template <int Shift, int Mask>
inline Vec load_bits(const std::uint8_t* from) {
  std::uint32_t word;
  __builtin_memcpy(&word, from, sizeof word);
  uint32x4_t bytes = vmovl_u16(vget_low_u16(vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(word)))));
  if constexpr (Shift > 0) bytes = vshrq_n_u32(bytes, Shift);
  return vcvtq_f32_u32(vandq_u32(bytes, vdupq_n_u32(Mask)));
}

inline Vec load_first(const float* from, std::size_t count) {
  float lanes[kLanes] = {};
  for (std::size_t i = 0; i < count; ++i) lanes[i] = from[i];
  return load(lanes);
}
inline Vec load_first(const std::uint16_t* from, std::size_t count) {
  std::uint16_t lanes[kLanes] = {};
  for (std::size_t i = 0; i < count; ++i) lanes[i] = from[i];
  return load(lanes);
}
inline void store_first(float* to, Vec v, std::size_t count) {
  float lanes[kLanes];
  store(lanes, v);
  for (std::size_t i = 0; i < count; ++i) to[i] = lanes[i];
}

inline Vec fma(Vec a, Vec b, Vec c) { return vfmaq_f32(c, a, b); }
inline Vec fnma(Vec a, Vec b, Vec c) { return vfmsq_f32(c, a, b); }

/// NaN where either is NaN.
inline Vec min(Vec a, Vec b) { return vminq_f32(a, b); }
inline Vec max(Vec a, Vec b) { return vmaxq_f32(a, b); }

inline Vec abs(Vec v) { return vabsq_f32(v); }
inline Vec copy_sign(Vec magnitude, Vec sign) { return vbslq_f32(vdupq_n_u32(0x80000000U), sign, magnitude); }
inline Vec select_less(Vec a, Vec b, Vec yes, Vec no) { return vbslq_f32(vcltq_f32(a, b), yes, no); }
inline Vec round_to_integer(Vec v) { return vrndnq_f32(v); }

inline Vec scale_by_power_of_two(Vec v, Vec n) {
  const int32x4_t power = vcvtq_s32_f32(n);
  const int32x4_t half = vshrq_n_s32(power, 1);
  const int32x4_t rest = vsubq_s32(power, half);
  const int32x4_t bias = vdupq_n_s32(127);
  const Vec first = vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(half, bias), 23));
  const Vec second = vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(rest, bias), 23));
  return v * first * second;
}

inline float sum_lanes(Vec v) {
  const Vec pairs = vpaddq_f32(v, v);
  return vgetq_lane_f32(vpaddq_f32(pairs, pairs), 0);
}

inline void store_sums(float* to, Vec a, Vec b, Vec c, Vec d) {
  store(to, vpaddq_f32(vpaddq_f32(a, b), vpaddq_f32(c, d)));
}

inline float max_lanes(Vec v) { return vmaxvq_f32(v); }

inline float first_lane(Vec v) { return vgetq_lane_f32(v, 0); }

}  // namespace
}  // namespace lanner::kernels
