// SPDX-License-Identifier: MIT
// For ISA files only: everything has internal linkage.
#pragma once

#include <immintrin.h>

#include <cstddef>

namespace lanner::kernels {
namespace {

/// Eight float lanes.
struct Simd {
  static constexpr std::size_t kLanes = 8;
  static constexpr std::size_t kTileRows = 4;  ///< prompt tile: 12 sums, 3 weights and a row in 16 registers
  static constexpr std::size_t kTileColumns = 3;
  static constexpr int kFusedColumns[] = {4, 3, 2, 2};  ///< weight rows side by side for 1 to 4 rows of x
  using Floats = __m256;

  static Floats zero() { return _mm256_setzero_ps(); }
  static Floats load(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, Floats v) { _mm256_storeu_ps(to, v); }
  static Floats fma(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }

  static __m256i first_lanes(std::size_t count) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lane);
  }
  /// The first count elements, zeros after; touches no memory beyond them.
  static Floats load_part(const float* from, std::size_t count) {
    return _mm256_maskload_ps(from, first_lanes(count));
  }
  static void store_part(float* to, Floats v, std::size_t count) {
    _mm256_maskstore_ps(to, first_lanes(count), v);
  }
  /// Lanes added in halves: i and i + 4, then i and i + 2, then the last two.
  static float sum(Floats v) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
};

}  // namespace
}  // namespace lanner::kernels
