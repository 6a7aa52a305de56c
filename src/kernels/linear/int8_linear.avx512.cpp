// SPDX-License-Identifier: MIT
// Fast because VNNI multiplies 64 code-activation pairs an instruction straight into 16 output lanes, one
// unpacked vector of codes serves up to four rows, and one broadcast of activations two vectors of codes.
#include "kernels/linear/int8_linear.h"

#include <immintrin.h>

#include <cstring>

#include "kernels/linear/int8_formats.h"

namespace lanner::kernels {
namespace {

/// Bits [kFrom, kFrom + kWidth) of every byte, moved to bit kTo.
template <int kFrom, int kWidth, int kTo = 0>
inline __m512i plane(__m512i v) {
  if constexpr (kFrom > kTo) v = _mm512_srli_epi16(v, kFrom - kTo);
  if constexpr (kFrom < kTo) v = _mm512_slli_epi16(v, kTo - kFrom);
  return _mm512_and_si512(v, _mm512_set1_epi8(static_cast<char>(((1 << kWidth) - 1) << kTo)));
}

/// One piece of the codes of quad kQuad of a unit whose vectors begin at `unit`.
template <int kBits, int kQuad, int kPiece>
inline __m512i piece(const std::byte* unit) {
  constexpr PackedPiece kAt = packed_quad(kBits, kQuad).pieces[kPiece];
  const __m512i vector = _mm512_load_si512(unit + kAt.vector * static_cast<int>(kPackedVectorBytes));
  if constexpr (kAt.width == 8) return vector;
  return plane<kAt.at, kAt.width, kAt.from>(vector);
}

/// Codes of quad kQuad.
template <int kBits, int kQuad>
inline __m512i quad(const std::byte* unit) {
  constexpr PackedQuad kAt = packed_quad(kBits, kQuad);
  __m512i codes = piece<kBits, kQuad, 0>(unit);
  if constexpr (kAt.pieces[1].width != 0) codes = _mm512_or_si512(codes, piece<kBits, kQuad, 1>(unit));
  if constexpr (kAt.pieces[2].width != 0) codes = _mm512_or_si512(codes, piece<kBits, kQuad, 2>(unit));
  return codes;
}

/// Sixteen scales or biases as float.
template <DType kDtype>
inline __m512 floats(const std::byte* table) {
  if constexpr (kDtype == DType::kF32) return _mm512_loadu_ps(table);
  const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(table));
  if constexpr (kDtype == DType::kF16) return _mm512_cvtph_ps(half);
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

/// Twice the E2M1 elements of 4-bit codes, plus kFp4Zero.
inline __m512i fp4_codes(__m512i codes) {
  const __m512i table =
      _mm512_broadcast_i32x4(_mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
  return _mm512_shuffle_epi8(table, codes);
}

/// Sixteen scales of mxfp4, or of nvfp4 times 2^-8.
template <bool kIsMxfp4>
inline __m512 fp4_scales(const std::byte* table) {
  const __m128i codes = _mm_load_si128(reinterpret_cast<const __m128i*>(table));
  if constexpr (kIsMxfp4)  // 2^-127, code 0, has a bit of the mantissa in place of an exponent
    return _mm512_castsi512_ps(
        _mm512_max_epi32(_mm512_slli_epi32(_mm512_cvtepu8_epi32(codes), 23), _mm512_set1_epi32(0x00400000)));
  const __m256i halves = _mm256_slli_epi16(_mm256_cvtepi8_epi16(codes), 7);  // the sign twice
  return _mm512_cvtph_ps(_mm256_and_si256(halves, _mm256_set1_epi16(static_cast<short>(0xbfff))));
}

inline __m512i broadcast4(const std::int8_t* codes) {
  std::int32_t word = 0;
  std::memcpy(&word, codes, sizeof(word));
  return _mm512_set1_epi32(word);
}

template <typename Codes>
class Tiles {
 public:
  static void linear(const PackedView& w, const QuantizedRows& x, float* out, std::size_t out_stride,
                     std::size_t rows, std::size_t tile_begin, std::size_t tile_end) {
    const Call call{w, x, out, out_stride};
    std::size_t tile = tile_begin;
    for (; tile + 2 <= tile_end; tile += 2) all_rows<2>(call, rows, tile);
    for (; tile < tile_end; ++tile) all_rows<1>(call, rows, tile);
  }

 private:
  struct Call {
    const PackedView& w;
    const QuantizedRows& x;
    float* out;
    std::size_t out_stride;
  };

  /// Every row against kTiles neighbouring tiles. One or two rows take them one after the other: they wait
  /// for memory, which is read fastest as one stream.
  template <int kTiles>
  static void all_rows(const Call& call, std::size_t rows, std::size_t tile) {
    std::size_t row = 0;
    for (; row + 4 <= rows; row += 4) block<4, kTiles>(call, row, tile);
    switch (rows - row) {
      case 1:
        return tile_by_tile<1, kTiles>(call, row, tile);
      case 2:
        return tile_by_tile<2, kTiles>(call, row, tile);
      case 3:
        return block<3, kTiles>(call, row, tile);
      default:
        return;
    }
  }

  template <int kRows, int kTiles>
  static void tile_by_tile(const Call& call, std::size_t row, std::size_t tile) {
    for (int t = 0; t < kTiles; ++t) block<kRows, 1>(call, row, tile + static_cast<std::size_t>(t));
  }

  template <int kRows, int kTiles>
  static void block(const Call& call, std::size_t row, std::size_t tile) {
    const PackedView& w = call.w;
    const std::size_t tile_bytes = w.tile_bytes();
    const std::size_t group = static_cast<std::size_t>(w.spec.group);
    const std::size_t group_bytes = w.group_bytes();
    const std::byte* tables = w.data + tile * tile_bytes;
    const std::byte* units = tables + w.codes_offset();
    const std::byte* ahead = tables + (kTiles == 1 ? kAheadBytes : kTiles * tile_bytes);
    const std::int8_t* codes = call.x.codes + row * call.x.columns;
    __m512 acc[kRows][kTiles];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int t = 0; t < kTiles; ++t) acc[r][t] = _mm512_setzero_ps();
    for (std::size_t g = 0; g < call.x.groups; ++g) {
      __m512i sums[kRows][kTiles];
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const std::size_t i = (row + static_cast<std::size_t>(r)) * call.x.groups + g;
#pragma GCC unroll 8
        for (int t = 0; t < kTiles; ++t)
          sums[r][t] = Codes::kIsFp4 ? _mm512_set1_epi32(call.x.offsets[i]) : _mm512_setzero_si512();
      }
      if (row == 0) ahead = prefetch(ahead, kTiles * group_bytes);
      const std::byte* unit = Codes::kIsFp4 ? units : tables + 2 * Codes::kTableBytes;
      for (std::size_t k = 0; k < group; k += Codes::kUnitColumns) {
        add_unit<kRows, kTiles>(sums, unit, tile_bytes, codes + k, call.x.columns);
        unit += kUnitBytes;
      }
#pragma GCC unroll 8
      for (int t = 0; t < kTiles; ++t)
        add_group<kRows, kTiles>(acc, sums, t, tables + static_cast<std::size_t>(t) * tile_bytes, call.x,
                                 row * call.x.groups + g);
      tables += Codes::kIsFp4 ? Codes::kTableBytes : group_bytes;
      if constexpr (Codes::kIsFp4) units += w.group_code_bytes();
      codes += group;
    }
    for (int t = 0; t < kTiles; ++t) {
      const std::size_t n = (tile + static_cast<std::size_t>(t)) * kPackedTileRows;
      const std::size_t outputs = w.rows - n < kPackedTileRows ? w.rows - n : kPackedTileRows;
      const auto mask = static_cast<__mmask16>((1U << outputs) - 1U);
      for (int r = 0; r < kRows; ++r) {
        __m512 sum = acc[r][t];
        if constexpr (Codes::kIsFp4) sum = _mm512_mul_ps(sum, _mm512_set1_ps(Codes::kFactor));
        _mm512_mask_storeu_ps(call.out + (row + static_cast<std::size_t>(r)) * call.out_stride + n, mask,
                              sum);
      }
    }
  }

  /// The float part of one group of tile t; `first` is the group's place in the tables of the first row.
  template <int kRows, int kTiles>
  [[gnu::always_inline]] static inline void add_group(__m512 (&acc)[kRows][kTiles],
                                                      const __m512i (&sums)[kRows][kTiles], int t,
                                                      const std::byte* tables, const QuantizedRows& x,
                                                      std::size_t first) {
    const __m512 scale = scales_of(tables);
    __m512 bias = _mm512_setzero_ps();
    if constexpr (!Codes::kIsFp4) bias = floats<Codes::kDtype>(tables + Codes::kTableBytes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const std::size_t i = first + static_cast<std::size_t>(r) * x.groups;
      const __m512 product = _mm512_mul_ps(_mm512_set1_ps(x.scales[i]), _mm512_cvtepi32_ps(sums[r][t]));
      acc[r][t] = _mm512_fmadd_ps(product, scale, acc[r][t]);
      if constexpr (!Codes::kIsFp4) acc[r][t] = _mm512_fmadd_ps(_mm512_set1_ps(x.sums[i]), bias, acc[r][t]);
    }
  }

  static __m512 scales_of(const std::byte* tables) {
    if constexpr (Codes::kIsFp4)
      return fp4_scales<Codes::kIsMxfp4>(tables);
    else
      return floats<Codes::kDtype>(tables);
  }

  /// Brings bytes that are read later into the cache, in the order of their addresses; returns their end.
  [[gnu::always_inline]] static inline const std::byte* prefetch(const std::byte* ahead, std::size_t bytes) {
    for (std::size_t line = 0; line < bytes; line += kPackedVectorBytes)
      _mm_prefetch(ahead + line, _MM_HINT_T0);
    return ahead + bytes;
  }

  template <int kRows, int kTiles, int kQuad = 0>
  [[gnu::always_inline]] static inline void add_unit(__m512i (&sums)[kRows][kTiles], const std::byte* unit,
                                                     std::size_t tile_bytes, const std::int8_t* codes,
                                                     std::size_t columns) {
    if constexpr (kQuad < static_cast<int>(Codes::kUnitColumns / 4)) {
      __m512i weights[kTiles];
#pragma GCC unroll 8
      for (int t = 0; t < kTiles; ++t) {
        weights[t] = quad<Codes::kBits, kQuad>(unit + static_cast<std::size_t>(t) * tile_bytes);
        if constexpr (Codes::kIsFp4) weights[t] = fp4_codes(weights[t]);
      }
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        __m512i x = broadcast4(codes + static_cast<std::size_t>(r) * columns + 4 * kQuad);
        asm("" : "+v"(x));  // else it is loaded anew for each tile
#pragma GCC unroll 8
        for (int t = 0; t < kTiles; ++t) sums[r][t] = _mm512_dpbusd_epi32(sums[r][t], weights[t], x);
      }
      add_unit<kRows, kTiles, kQuad + 1>(sums, unit, tile_bytes, codes, columns);
    }
  }

  static constexpr std::size_t kAheadBytes = 12 * 1024;  ///< of one tile; of several, what follows them
  static constexpr std::size_t kUnitBytes = kPackedTileRows * Codes::kUnitColumns * Codes::kBits / 8;
};

}  // namespace

void quantize_rows_avx512(const QuantizedTarget& to, const float* x, std::size_t rows, std::size_t columns,
                          std::size_t group) {
  const std::size_t groups = rows * (columns / group);
  for (std::size_t g = 0; g < groups; ++g) {
    const float* values = x + g * group;
    __m512 largest = _mm512_setzero_ps();
    for (std::size_t i = 0; i < group; i += 16)
      largest = _mm512_max_ps(largest, _mm512_abs_ps(_mm512_loadu_ps(values + i)));
    const float top = _mm512_reduce_max_ps(largest);
    const __m512 inverse = _mm512_set1_ps(top > 0 ? 127.0F / top : 0.0F);
    __m512i sum = _mm512_setzero_si512();
    for (std::size_t i = 0; i < group; i += 16) {
      const __m512i code = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(values + i), inverse));
      sum = _mm512_add_epi32(sum, code);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to.codes + g * group + i), _mm512_cvtepi32_epi8(code));
    }
    const std::int32_t total = _mm512_reduce_add_epi32(sum);
    to.scales[g] = top / 127.0F;
    to.sums[g] = to.scales[g] * static_cast<float>(total);
    to.offsets[g] = -kFp4Zero * total;
  }
}

Int8Kernels int8_kernels_avx512(const WeightSpec& spec) {
  return {.linear = int8_linear_of<Tiles>(spec), .quantize_rows = quantize_rows_avx512};
}

}  // namespace lanner::kernels
