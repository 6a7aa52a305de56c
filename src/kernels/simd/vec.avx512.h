// SPDX-License-Identifier: MIT
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

// The meaning of each function is documented in vec.avx2.h.
namespace lanner::kernels {
namespace {

using Vec = __m512;
inline constexpr std::size_t kLanes = 16;

inline Vec splat(float value) { return _mm512_set1_ps(value); }

inline Vec load(const float* from) { return _mm512_loadu_ps(from); }
inline void store(float* to, Vec v) { _mm512_storeu_ps(to, v); }

inline Vec widen_bf16(__m256i bits) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}
inline Vec load(const std::uint16_t* from) {
  return widen_bf16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}

template <int Shift, int Mask>
inline Vec load_bits(const std::uint8_t* from) {
  const __m512i bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  return _mm512_cvtepi32_ps(_mm512_and_si512(_mm512_srli_epi32(bytes, Shift), _mm512_set1_epi32(Mask)));
}

inline __mmask16 first_lanes(std::size_t count) { return static_cast<__mmask16>((1U << count) - 1); }

inline Vec load_first(const float* from, std::size_t count) {
  return _mm512_maskz_loadu_ps(first_lanes(count), from);
}
inline Vec load_first(const std::uint16_t* from, std::size_t count) {
  return widen_bf16(_mm256_maskz_loadu_epi16(first_lanes(count), from));
}
inline void store_first(float* to, Vec v, std::size_t count) {
  _mm512_mask_storeu_ps(to, first_lanes(count), v);
}

inline Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
inline Vec fnma(Vec a, Vec b, Vec c) { return _mm512_fnmadd_ps(a, b, c); }

inline Vec min(Vec a, Vec b) { return _mm512_min_ps(a, b); }
inline Vec max(Vec a, Vec b) { return _mm512_max_ps(a, b); }

inline Vec abs(Vec v) { return _mm512_abs_ps(v); }
inline Vec copy_sign(Vec magnitude, Vec sign) {
  const Vec bit = splat(-0.0F);
  return _mm512_or_ps(_mm512_andnot_ps(bit, magnitude), _mm512_and_ps(bit, sign));
}
inline Vec select_less(Vec a, Vec b, Vec yes, Vec no) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes);
}
inline Vec round_to_integer(Vec v) {
  return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

inline Vec scale_by_power_of_two(Vec v, Vec n) { return _mm512_scalef_ps(v, n); }

inline __m256 add_halves(Vec v) {
  return _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
}

inline float sum_lanes(Vec v) {
  const __m256 half = add_halves(v);
  __m128 quarter = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  quarter = _mm_hadd_ps(quarter, quarter);
  return _mm_cvtss_f32(_mm_hadd_ps(quarter, quarter));
}

inline void store_sums(float* to, Vec a, Vec b, Vec c, Vec d) {
  const __m256 pairs = _mm256_hadd_ps(_mm256_hadd_ps(add_halves(a), add_halves(b)),
                                      _mm256_hadd_ps(add_halves(c), add_halves(d)));
  _mm_storeu_ps(to, _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1)));
}

inline float max_lanes(Vec v) {
  const __m256 half = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  __m128 quarter = _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  quarter = _mm_max_ps(quarter, _mm_movehl_ps(quarter, quarter));
  return _mm_cvtss_f32(_mm_max_ss(quarter, _mm_movehdup_ps(quarter)));
}

inline float first_lane(Vec v) { return _mm512_cvtss_f32(v); }

}  // namespace
}  // namespace lanner::kernels
