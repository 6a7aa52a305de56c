// SPDX-License-Identifier: MIT
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/simd/vec.h"

namespace lanner::kernels {
namespace {

/// kLanes integers of 32 bits, or as many pairs of 16 bits.
using Words = __m256i;

inline Words no_words() { return _mm256_setzero_si256(); }
inline Words load_words(const std::int32_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
inline void store_words(std::int32_t* to, Words w) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), w); }
/// At the end of a loop's turn, a register for each sum: GCC 12 would move sums, and keep some in memory.
inline void keep_in_register(Words& w) { asm("" : "+x"(w)); }
inline Words splat_word(const std::int32_t* from) { return _mm256_set1_epi32(*from); }

/// The nearest integers, half to even.
inline Words rounded(Vec v) { return _mm256_cvtps_epi32(v); }
inline Vec to_float(Words w) { return _mm256_cvtepi32_ps(w); }

/// Pairs of the low 16 bits of each.
inline Words join(Words low, Words high) {
  return _mm256_blend_epi16(low, _mm256_slli_epi32(high, 16), 0xaa);
}
inline Words bits_of(Vec v) { return _mm256_castps_si256(v); }

/// 2 * kLanes elements: those at even places and those at odd ones.
struct Pairs {
  Vec even;
  Vec odd;
};
inline Pairs load_pairs(const std::uint16_t* from) {
  const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(both, 16)),
          _mm256_castsi256_ps(_mm256_and_si256(both, _mm256_set1_epi32(-65536)))};
}
inline Pairs load_pairs(const float* from) {
  const Vec first = load(from);
  const Vec second = load(from + kLanes);
  const __m256d even = _mm256_castps_pd(_mm256_shuffle_ps(first, second, 0x88));
  const __m256d odd = _mm256_castps_pd(_mm256_shuffle_ps(first, second, 0xdd));
  return {_mm256_castpd_ps(_mm256_permute4x64_pd(even, 0xd8)),
          _mm256_castpd_ps(_mm256_permute4x64_pd(odd, 0xd8))};
}

/// sum + a.low * b.low + a.high * b.high
inline Words add_products(Words sum, Words a, Words b) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
}

/// Sums of lanes of a and of b in turns, within each half.
inline Words add_neighbours(Words a, Words b) {
  return _mm256_add_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
}
/// to[i] = sum over the lanes of the i-th vector.
[[gnu::always_inline]] inline void store_word_sums(std::int32_t* to, const Words* sums) {
  const __m256i first = add_neighbours(sums[0], sums[1]);
  const __m256i second = add_neighbours(sums[2], sums[3]);
  const __m256i all =
      _mm256_add_epi32(_mm256_unpacklo_epi64(first, second), _mm256_unpackhi_epi64(first, second));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1)));
}

/// The largest |x| of 2 * kLanes bfloat16 values on, as bits, and the running largest; see largest_of().
inline Words larger_magnitudes(Words largest, const std::uint16_t* from) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return _mm256_max_epu16(largest, _mm256_and_si256(bits, _mm256_set1_epi16(0x7fff)));
}
inline float largest_of(Words magnitudes) {
  const __m128i most =
      _mm_max_epu16(_mm256_castsi256_si128(magnitudes), _mm256_extracti128_si256(magnitudes, 1));
  // There is an instruction for the smallest of eight: of complements it is that of the largest.
  const __m128i all = _mm_set1_epi32(-1);
  const __m128i largest = _mm_xor_si128(_mm_minpos_epu16(_mm_xor_si128(most, all)), all);
  return _mm_cvtss_f32(_mm_castsi128_ps(_mm_slli_epi32(largest, 16)));
}

}  // namespace
}  // namespace lanner::kernels
