// SPDX-License-Identifier: MIT
// Fast because VDPBF16PS multiplies twice as many pairs as FMA, straight from the checkpoint's form, and 24
// sums share ten loads. A block of outputs stays in the second-level cache while all rows pass.
#include "kernels/linear/bf16_linear.h"

#include <immintrin.h>

namespace lanner::kernels {
namespace {

constexpr std::size_t kStep = 32;  ///< columns of one instruction
constexpr int kTileRows = 6;
constexpr int kTileOutputs = 4;
constexpr std::size_t kBlockBytes = 256 * 1024;  ///< weights

struct Call {
  const std::uint16_t* w;
  const std::uint16_t* x;
  float* out;
  std::size_t out_stride;
  std::size_t columns;
};

inline __m512bh load(const std::uint16_t* from) {
  return (__m512bh)_mm512_loadu_si512(from);  // NOLINT: vectors know no other cast
}

inline __m512bh load_part(const std::uint16_t* from, std::size_t count) {
  const auto mask = static_cast<__mmask32>((1ULL << count) - 1);
  return (__m512bh)_mm512_maskz_loadu_epi16(mask, from);  // NOLINT
}

/// The lanes of each of four vectors, added in halves.
inline __m128 sums_of(__m512 a, __m512 b, __m512 c, __m512 d) {
  const __m512 ab = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xEE));
  const __m512 cd = _mm512_add_ps(_mm512_shuffle_f32x4(c, d, 0x44), _mm512_shuffle_f32x4(c, d, 0xEE));
  __m512 sums = _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xDD));
  sums = _mm512_add_ps(sums, _mm512_permute_ps(sums, 0x4E));
  sums = _mm512_add_ps(sums, _mm512_permute_ps(sums, 0xB1));
  const __m512i first = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  return _mm512_castps512_ps128(_mm512_permutexvar_ps(first, sums));
}

template <int kRows, int kOutputs>
void tile(const Call& call, std::size_t row, std::size_t n) {
  const std::uint16_t* x = call.x + row * call.columns;
  const std::uint16_t* w = call.w + n * call.columns;
  __m512 acc[kRows][kTileOutputs];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int i = 0; i < kTileOutputs; ++i) acc[r][i] = _mm512_setzero_ps();
  const auto add = [&](auto&& loaded) __attribute__((always_inline)) {
    __m512bh weights[kOutputs];
#pragma GCC unroll 8
    for (int i = 0; i < kOutputs; ++i) weights[i] = loaded(w + static_cast<std::size_t>(i) * call.columns);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const __m512bh xs = loaded(x + static_cast<std::size_t>(r) * call.columns);
#pragma GCC unroll 8
      for (int i = 0; i < kOutputs; ++i) acc[r][i] = _mm512_dpbf16_ps(acc[r][i], weights[i], xs);
    }
  };
  std::size_t k = 0;
  for (; k + kStep <= call.columns; k += kStep)
    add([&](const std::uint16_t* from) __attribute__((always_inline)) { return load(from + k); });
  if (k < call.columns)
    add([&](const std::uint16_t* from)
            __attribute__((always_inline)) { return load_part(from + k, call.columns - k); });
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    const __m128 sums = sums_of(acc[r][0], acc[r][1], acc[r][2], acc[r][3]);
    float* out = call.out + (row + static_cast<std::size_t>(r)) * call.out_stride + n;
    if constexpr (kOutputs == kTileOutputs)
      _mm_storeu_ps(out, sums);
    else
      _mm_store_ss(out, sums);
  }
}

/// Outputs [begin, end) of kRows rows.
template <int kRows>
void tiles(const Call& call, std::size_t row, std::size_t begin, std::size_t end) {
  std::size_t n = begin;
  for (; n + kTileOutputs <= end; n += kTileOutputs) tile<kRows, kTileOutputs>(call, row, n);
  for (; n < end; ++n) tile<kRows, 1>(call, row, n);
}

void all_rows(const Call& call, std::size_t rows, std::size_t begin, std::size_t end) {
  std::size_t row = 0;
  for (; row + kTileRows <= rows; row += kTileRows) tiles<kTileRows>(call, row, begin, end);
  switch (rows - row) {
    case 1:
      return tiles<1>(call, row, begin, end);
    case 2:
      return tiles<2>(call, row, begin, end);
    case 3:
      return tiles<3>(call, row, begin, end);
    case 4:
      return tiles<4>(call, row, begin, end);
    case 5:
      return tiles<5>(call, row, begin, end);
    default:
      return;
  }
}

}  // namespace

void round_bf16_avx512(std::uint16_t* to, const float* x, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 16) {
    const auto mask = static_cast<__mmask16>(count - i < 16 ? (1U << (count - i)) - 1U : 0xFFFFU);
    const __m256bh rounded = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, x + i));
    _mm256_mask_storeu_epi16(to + i, mask, (__m256i)rounded);  // NOLINT: vectors know no other cast
  }
}

void bf16_linear_avx512(const WeightView& w, const std::uint16_t* x, float* out, std::size_t out_stride,
                        std::size_t rows) {
  const Call call{static_cast<const std::uint16_t*>(w.data), x, out, out_stride, w.columns};
  const std::size_t fitting = kBlockBytes / (w.columns * sizeof(*x)) / kTileOutputs * kTileOutputs;
  const std::size_t block = fitting == 0 ? kTileOutputs : fitting;
  for (std::size_t n = 0; n < w.rows; n += block)
    all_rows(call, rows, n, w.rows - n < block ? w.rows : n + block);
}

}  // namespace lanner::kernels
