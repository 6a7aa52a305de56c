// SPDX-License-Identifier: MIT
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/simd/vec.h"

// The meaning of each function is documented in words.avx2.h.
namespace lanner::kernels {
namespace {

using Words = __m512i;

inline Words no_words() { return _mm512_setzero_si512(); }
inline Words load_words(const std::int32_t* from) { return _mm512_loadu_si512(from); }
inline void store_words(std::int32_t* to, Words w) { _mm512_storeu_si512(to, w); }
inline void keep_in_register(Words& w) { asm("" : "+v"(w)); }
inline Words splat_word(const std::int32_t* from) { return _mm512_set1_epi32(*from); }

inline Words rounded(Vec v) { return _mm512_cvtps_epi32(v); }
inline Vec to_float(Words w) { return _mm512_cvtepi32_ps(w); }

inline Words join(Words low, Words high) {
  return _mm512_mask_blend_epi16(0xaaaaaaaaU, low, _mm512_slli_epi32(high, 16));
}
inline Words bits_of(Vec v) { return _mm512_castps_si512(v); }

struct Pairs {
  Vec even;
  Vec odd;
};
inline Pairs load_pairs(const std::uint16_t* from) {
  const __m512i both = _mm512_loadu_si512(from);
  return {_mm512_castsi512_ps(_mm512_slli_epi32(both, 16)),
          _mm512_castsi512_ps(_mm512_and_si512(both, _mm512_set1_epi32(-65536)))};
}
inline Pairs load_pairs(const float* from) {
  const Vec first = load(from);
  const Vec second = load(from + kLanes);
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return {_mm512_permutex2var_ps(first, even, second),
          _mm512_permutex2var_ps(first, _mm512_add_epi32(even, _mm512_set1_epi32(1)), second)};
}

inline Words add_products(Words sum, Words a, Words b) {
#if defined(__AVX512VNNI__)
  return _mm512_dpwssd_epi32(sum, a, b);
#else
  return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b));
#endif
}

inline __m256i add_word_halves(Words w) {
  return _mm256_add_epi32(_mm512_castsi512_si256(w), _mm512_extracti64x4_epi64(w, 1));
}
[[gnu::always_inline]] inline void store_word_sums(std::int32_t* to, const Words* sums) {
  const __m256i pairs =
      _mm256_hadd_epi32(_mm256_hadd_epi32(add_word_halves(sums[0]), add_word_halves(sums[1])),
                        _mm256_hadd_epi32(add_word_halves(sums[2]), add_word_halves(sums[3])));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   _mm_add_epi32(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1)));
}

inline Words larger_magnitudes(Words largest, const std::uint16_t* from) {
  return _mm512_max_epu16(largest, _mm512_and_si512(_mm512_loadu_si512(from), _mm512_set1_epi16(0x7fff)));
}
inline float largest_of(Words magnitudes) {
  const __m512i high = _mm512_srli_epi32(magnitudes, 16);
  const __m512i low = _mm512_and_si512(magnitudes, _mm512_set1_epi32(0xffff));
  return max_lanes(_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_max_epi32(high, low), 16)));
}

}  // namespace
}  // namespace lanner::kernels
