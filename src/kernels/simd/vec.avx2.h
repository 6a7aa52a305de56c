// SPDX-License-Identifier: MIT
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace lanner::kernels {
namespace {

using Vec = __m256;
inline constexpr std::size_t kLanes = 8;

inline Vec splat(float value) { return _mm256_set1_ps(value); }

inline Vec load(const float* from) { return _mm256_loadu_ps(from); }
inline void store(float* to, Vec v) { _mm256_storeu_ps(to, v); }

/// Eight bfloat16 values, widened: one shuffle inside the halves of a register that both hold all of them.
inline Vec load(const std::uint16_t* from) {
  const __m256i bits = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  const __m256i places = _mm256_setr_epi8(-1, -1, 0, 1, -1, -1, 2, 3, -1, -1, 4, 5, -1, -1, 6, 7,  //
                                          -1, -1, 8, 9, -1, -1, 10, 11, -1, -1, 12, 13, -1, -1, 14, 15);
  return _mm256_castsi256_ps(_mm256_shuffle_epi8(bits, places));
}

/// Bits [Shift, Shift + width of Mask) of eight bytes, as floats.
template <int Shift, int Mask>
inline Vec load_bits(const std::uint8_t* from) {
  const __m256i bytes = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
  return _mm256_cvtepi32_ps(_mm256_and_si256(_mm256_srli_epi32(bytes, Shift), _mm256_set1_epi32(Mask)));
}

inline __m256i first_lanes(std::size_t count) {
  alignas(32) static const std::int32_t kMask[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMask + kLanes - count));
}

/// The first `count` lanes from memory, the others 0; nothing beyond is read.
inline Vec load_first(const float* from, std::size_t count) {
  return _mm256_maskload_ps(from, first_lanes(count));
}
inline Vec load_first(const std::uint16_t* from, std::size_t count) {
  alignas(16) std::uint16_t lanes[kLanes] = {};
  for (std::size_t i = 0; i < count; ++i) lanes[i] = from[i];
  return load(lanes);
}
inline void store_first(float* to, Vec v, std::size_t count) {
  _mm256_maskstore_ps(to, first_lanes(count), v);
}

/// a * b + c, rounded once.
inline Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
/// c - a * b, rounded once.
inline Vec fnma(Vec a, Vec b, Vec c) { return _mm256_fnmadd_ps(a, b, c); }

/// Lane-wise smaller and larger; b where either is NaN.
inline Vec min(Vec a, Vec b) { return _mm256_min_ps(a, b); }
inline Vec max(Vec a, Vec b) { return _mm256_max_ps(a, b); }

inline Vec abs(Vec v) { return _mm256_andnot_ps(splat(-0.0F), v); }
/// |magnitude| with the sign of `sign`.
inline Vec copy_sign(Vec magnitude, Vec sign) {
  const Vec bit = splat(-0.0F);
  return _mm256_or_ps(_mm256_andnot_ps(bit, magnitude), _mm256_and_ps(bit, sign));
}
/// a < b ? yes : no, lane by lane.
inline Vec select_less(Vec a, Vec b, Vec yes, Vec no) {
  return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}
inline Vec round_to_integer(Vec v) {
  return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/// v * 2^n for integral n in [-252, 254], rounded once: two steps, so that subnormal results are right.
inline Vec scale_by_power_of_two(Vec v, Vec n) {
  const __m256i power = _mm256_cvtps_epi32(n);
  const __m256i half = _mm256_srai_epi32(power, 1);
  const __m256i rest = _mm256_sub_epi32(power, half);
  const __m256i bias = _mm256_set1_epi32(127);
  const Vec first = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
  const Vec second = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23));
  return v * first * second;
}

/// Sum over the lanes in a fixed order.
inline float sum_lanes(Vec v) {
  __m128 quarter = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  quarter = _mm_hadd_ps(quarter, quarter);
  return _mm_cvtss_f32(_mm_hadd_ps(quarter, quarter));
}

/// to[i] = sum over the lanes of the i-th vector, all in the same order.
inline void store_sums(float* to, Vec a, Vec b, Vec c, Vec d) {
  const Vec pairs = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
  _mm_storeu_ps(to, _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1)));
}

/// Largest lane.
inline float max_lanes(Vec v) {
  __m128 quarter = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  quarter = _mm_max_ps(quarter, _mm_movehl_ps(quarter, quarter));
  return _mm_cvtss_f32(_mm_max_ss(quarter, _mm_movehdup_ps(quarter)));
}

inline float first_lane(Vec v) { return _mm256_cvtss_f32(v); }

}  // namespace
}  // namespace lanner::kernels
