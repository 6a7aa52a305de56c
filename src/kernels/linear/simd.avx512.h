// SPDX-License-Identifier: MIT
// For ISA files only: everything has internal linkage.
#pragma once

// GCC 12 warns of the deliberately undefined operand inside its own AVX-512 intrinsics.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include <cstddef>

namespace lanner::kernels {
namespace {

/// Sixteen float lanes.
struct Simd {
  static constexpr std::size_t kLanes = 16;
  static constexpr std::size_t kTileRows = 4;  ///< prompt tile: 24 sums, 6 weights and a row in 32 registers
  static constexpr std::size_t kTileColumns = 6;
  static constexpr int kFusedColumns[] = {4, 4, 4, 4};  ///< weight rows side by side for 1 to 4 rows of x
  using Floats = __m512;

  static Floats zero() { return _mm512_setzero_ps(); }
  static Floats load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, Floats v) { _mm512_storeu_ps(to, v); }
  static Floats fma(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }

  static __mmask16 first_lanes(std::size_t count) { return static_cast<__mmask16>((1U << count) - 1U); }
  /// The first count < 16 elements, zeros after; touches no memory beyond them.
  static Floats load_part(const float* from, std::size_t count) {
    return _mm512_maskz_loadu_ps(first_lanes(count), from);
  }
  static void store_part(float* to, Floats v, std::size_t count) {
    _mm512_mask_storeu_ps(to, first_lanes(count), v);
  }
  /// Lanes added in halves: i and i + 8, then i and i + 4, then i and i + 2, then the last two.
  static float sum(Floats v) {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
};

}  // namespace
}  // namespace lanner::kernels
