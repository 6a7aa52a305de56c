// SPDX-License-Identifier: MIT
// Fast because unsigned codes times int8 activations are summed in 16 bits as far as the code width allows,
// lanes are outputs, one unpacked vector of codes serves up to six rows, and one broadcast of activations two
// vectors of codes.
#include "kernels/linear/int8_linear.h"

#include <immintrin.h>

#include <cstring>

#include "kernels/linear/int8_formats.h"

namespace lanner::kernels {
namespace {

constexpr int kHalves = 2;              ///< of a tile, eight outputs each
constexpr std::size_t kHalfBytes = 32;  ///< of a vector

/// Bits [kFrom, kFrom + kWidth) of every byte, moved to bit kTo.
template <int kFrom, int kWidth, int kTo = 0>
inline __m256i plane(__m256i v) {
  if constexpr (kFrom > kTo) v = _mm256_srli_epi16(v, kFrom - kTo);
  if constexpr (kFrom < kTo) v = _mm256_slli_epi16(v, kTo - kFrom);
  return _mm256_and_si256(v, _mm256_set1_epi8(static_cast<char>(((1 << kWidth) - 1) << kTo)));
}

/// One piece of the codes of quad kQuad for eight outputs; `unit` points to their half. At 8 bits kPart
/// selects the low or the high nibble: products of whole bytes would overflow 16 bits.
template <int kBits, int kQuad, int kPart, int kPiece>
inline __m256i piece(const std::byte* unit) {
  constexpr PackedPiece kAt = packed_quad(kBits, kQuad).pieces[kPiece];
  const __m256i vector = _mm256_load_si256(
      reinterpret_cast<const __m256i*>(unit + kAt.vector * static_cast<int>(kPackedVectorBytes)));
  if constexpr (kBits == 8) return plane<4 * kPart, 4>(vector);
  return plane<kAt.at, kAt.width, kAt.from>(vector);
}

/// Codes of quad kQuad.
template <int kBits, int kQuad, int kPart>
inline __m256i quad(const std::byte* unit) {
  constexpr PackedQuad kAt = packed_quad(kBits, kQuad);
  __m256i codes = piece<kBits, kQuad, kPart, 0>(unit);
  if constexpr (kAt.pieces[1].width != 0) codes = _mm256_or_si256(codes, piece<kBits, kQuad, kPart, 1>(unit));
  if constexpr (kAt.pieces[2].width != 0) codes = _mm256_or_si256(codes, piece<kBits, kQuad, kPart, 2>(unit));
  return codes;
}

/// Quads whose 16-bit sums cannot overflow: two products of a code with 127 each.
constexpr int chain_quads(int largest_code) {
  const int quads = 32767 / (largest_code * 127 * 2);
  return quads >= 8 ? 8 : quads >= 4 ? 4 : 2;
}

/// Twice the E2M1 elements of 4-bit codes, plus kFp4Zero.
inline __m256i fp4_codes(__m256i codes) {
  const __m256i table =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
  return _mm256_shuffle_epi8(table, codes);
}

/// Eight scales of mxfp4, or of nvfp4 times 2^-8.
template <bool kIsMxfp4>
inline __m256 fp4_scales(const std::byte* table) {
  const __m128i codes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(table));
  if constexpr (kIsMxfp4)  // 2^-127, code 0, has a bit of the mantissa in place of an exponent
    return _mm256_castsi256_ps(
        _mm256_max_epi32(_mm256_slli_epi32(_mm256_cvtepu8_epi32(codes), 23), _mm256_set1_epi32(0x00400000)));
  const __m128i halves = _mm_slli_epi16(_mm_cvtepi8_epi16(codes), 7);  // the sign twice
  return _mm256_cvtph_ps(_mm_and_si128(halves, _mm_set1_epi16(static_cast<short>(0xbfff))));
}

template <DType kDtype>
inline __m256 floats(const std::byte* table) {
  if constexpr (kDtype == DType::kF32) return _mm256_loadu_ps(reinterpret_cast<const float*>(table));
  const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
  if constexpr (kDtype == DType::kF16) return _mm256_cvtph_ps(half);
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}

inline __m256i broadcast4(const std::int8_t* codes) {
  std::int32_t word = 0;
  std::memcpy(&word, codes, sizeof(word));
  return _mm256_set1_epi32(word);
}

template <typename Codes>
class Tiles {
 public:
  static void linear(const PackedView& w, const QuantizedRows& x, float* out, std::size_t out_stride,
                     std::size_t rows, std::size_t tile_begin, std::size_t tile_end) {
    const Call call{w, x, out, out_stride};
    for (std::size_t tile = tile_begin; tile < tile_end; ++tile) all_rows(call, rows, tile);
  }

  /// The same with four tiles side by side for a single row: fast because the hardware follows four streams
  /// of weights, and one broadcast of activations serves all.
  static void side_by_side(const PackedView& w, const QuantizedRows& x, float* out, std::size_t out_stride,
                           std::size_t rows, std::size_t tile_begin, std::size_t tile_end) {
    const std::size_t apart = rows == 1 ? (tile_end - tile_begin) / kSideBySide : 0;
    for (std::size_t i = 0; i < apart; ++i)
      block<1, kSideBySide>({w, x, out, out_stride}, 0, tile_begin + i, apart);
    linear(w, x, out, out_stride, rows, tile_begin + kSideBySide * apart, tile_end);
  }

 private:
  struct Call {
    const PackedView& w;
    const QuantizedRows& x;
    float* out;
    std::size_t out_stride;
  };

  /// Blocks of up to six rows, as even as can be: 4 and 4 take less than 6 and 2.
  static void all_rows(const Call& call, std::size_t rows, std::size_t tile) {
    std::size_t row = 0;
    for (std::size_t blocks = (rows + 5) / 6; blocks > 0; --blocks) {
      const std::size_t count = (rows - row + blocks - 1) / blocks;
      block_of(call, row, tile, count);
      row += count;
    }
  }

  static void block_of(const Call& call, std::size_t row, std::size_t tile, std::size_t count) {
    switch (count) {
      case 1:
        return block<1>(call, row, tile);
      case 2:
        return block<2>(call, row, tile);
      case 3:
        return block<3>(call, row, tile);
      case 4:
        return block<4>(call, row, tile);
      case 5:
        return block<5>(call, row, tile);
      default:
        return block<6>(call, row, tile);
    }
  }

  /// kRows rows by kTiles tiles that are `apart` tiles from each other.
  template <int kRows, int kTiles = 1>
  static void block(const Call& call, std::size_t row, std::size_t tile, std::size_t apart = 0) {
    constexpr int kVectors = kTiles * kHalves;
    const PackedView& w = call.w;
    const std::size_t group = static_cast<std::size_t>(w.spec.group);
    const std::size_t group_bytes = w.group_bytes();
    const std::size_t apart_bytes = apart * w.tile_bytes();
    const std::byte* tables = w.data + tile * w.tile_bytes();
    const std::byte* units = tables + w.codes_offset();
    const std::byte* ahead = tables + kAheadBytes;
    const std::int8_t* codes = call.x.codes + row * call.x.columns;
    __m256 acc[kRows][kVectors];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) acc[r][v] = _mm256_setzero_ps();
    for (std::size_t g = 0; g < call.x.groups; ++g) {
      __m256i sums[kRows][kVectors];
      const std::size_t first = row * call.x.groups + g;
      if (kTiles == 1 && row == 0) ahead = prefetch(ahead, group_bytes);
      const std::byte* unit = Codes::kIsFp4 ? units : tables + 2 * Codes::kTableBytes;
      if constexpr (Codes::kIsFp4)
        begin_with_offsets<kRows, kVectors>(sums, call.x.offsets + first, call.x.groups);
      add_chains<kRows, kVectors, 0, !Codes::kIsFp4>(sums, unit, apart_bytes, codes, call.x.columns);
      for (std::size_t k = Codes::kUnitColumns; k < group; k += Codes::kUnitColumns) {
        unit += kUnitBytes;
        add_chains<kRows, kVectors, 0, false>(sums, unit, apart_bytes, codes + k, call.x.columns);
      }
      add_group<kRows, kVectors>(acc, sums, tables, apart_bytes, call.x, first);
      tables += Codes::kIsFp4 ? Codes::kTableBytes : group_bytes;
      if constexpr (Codes::kIsFp4) units += w.group_code_bytes();
      codes += group;
    }
    for (int v = 0; v < kVectors; ++v)
      for (int r = 0; r < kRows; ++r)
        store(call, row + static_cast<std::size_t>(r),
              kPackedTileRows * tile + offset(v, kPackedTileRows * apart, kPackedTileRows / kHalves),
              acc[r][v]);
  }

  /// Where vector v's half tile begins: `tile` from tile to tile, `half` from half to half.
  static constexpr std::size_t offset(int v, std::size_t tile, std::size_t half) {
    return static_cast<std::size_t>(v / kHalves) * tile + static_cast<std::size_t>(v % kHalves) * half;
  }

  template <int kRows, int kVectors>
  [[gnu::always_inline]] static inline void begin_with_offsets(__m256i (&sums)[kRows][kVectors],
                                                               const std::int32_t* offsets,
                                                               std::size_t stride) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v)
        sums[r][v] = _mm256_set1_epi32(offsets[static_cast<std::size_t>(r) * stride]);
  }

  /// The float part of one group; `first` is the group's place in the tables of the first row.
  template <int kRows, int kVectors>
  [[gnu::always_inline]] static inline void add_group(__m256 (&acc)[kRows][kVectors],
                                                      const __m256i (&sums)[kRows][kVectors],
                                                      const std::byte* tables, std::size_t apart_bytes,
                                                      const QuantizedRows& x, std::size_t first) {
    __m256 scales[kVectors];
    __m256 biases[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const std::byte* half = tables + offset(v, apart_bytes, Codes::kTableBytes / kHalves);
      scales[v] = scales_of(half);
      if constexpr (!Codes::kIsFp4) biases[v] = floats<Codes::kDtype>(half + Codes::kTableBytes);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const std::size_t i = first + static_cast<std::size_t>(r) * x.groups;
      const __m256 row_scale = _mm256_set1_ps(x.scales[i]);
      const __m256 row_sum = Codes::kIsFp4 ? _mm256_setzero_ps() : _mm256_set1_ps(x.sums[i]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const __m256 product = _mm256_mul_ps(row_scale, _mm256_cvtepi32_ps(sums[r][v]));
        acc[r][v] = _mm256_fmadd_ps(product, scales[v], acc[r][v]);
        if constexpr (!Codes::kIsFp4) acc[r][v] = _mm256_fmadd_ps(row_sum, biases[v], acc[r][v]);
      }
    }
  }

  static __m256 scales_of(const std::byte* tables) {
    if constexpr (Codes::kIsFp4)
      return fp4_scales<Codes::kIsMxfp4>(tables);
    else
      return floats<Codes::kDtype>(tables);
  }

  /// Brings bytes that are read later into the cache: tiles follow each other, so all are one stream. Returns
  /// their end.
  [[gnu::always_inline]] static inline const std::byte* prefetch(const std::byte* ahead, std::size_t bytes) {
    for (std::size_t line = 0; line < bytes; line += kPackedVectorBytes)
      _mm_prefetch(ahead + line, _MM_HINT_T0);
    return ahead + bytes;
  }

  /// Outputs [n, n + 8) of a row.
  static void store(const Call& call, std::size_t row, std::size_t n, __m256 values) {
    if constexpr (Codes::kIsFp4) values = _mm256_mul_ps(values, _mm256_set1_ps(Codes::kFactor));
    float* out = call.out + row * call.out_stride + n;
    if (n + 8 <= call.w.rows) return _mm256_storeu_ps(out, values);
    float lanes[8];
    _mm256_storeu_ps(lanes, values);
    for (std::size_t i = 0; n + i < call.w.rows; ++i) out[i] = lanes[i];
  }

  /// One chain of 16-bit sums after another until the unit's quads are used up. kBegins: the first one's are
  /// the first of the group.
  template <int kRows, int kVectors, int kQuad, bool kBegins>
  [[gnu::always_inline]] static inline void add_chains(__m256i (&sums)[kRows][kVectors],
                                                       const std::byte* unit, std::size_t apart_bytes,
                                                       const std::int8_t* codes, std::size_t columns) {
    if constexpr (kQuad < static_cast<int>(Codes::kUnitColumns / 4)) {
      add_chain<kRows, kVectors, kQuad, 0, kBegins>(sums, unit, apart_bytes, codes, columns);
      if constexpr (Codes::kBits == 8)
        add_chain<kRows, kVectors, kQuad, 1, false>(sums, unit, apart_bytes, codes, columns);
      add_chains<kRows, kVectors, kQuad + kChain, false>(sums, unit, apart_bytes, codes, columns);
    }
  }

  template <int kRows, int kVectors, int kQuad, int kPart, bool kBegins>
  [[gnu::always_inline]] static inline void add_chain(__m256i (&sums)[kRows][kVectors], const std::byte* unit,
                                                      std::size_t apart_bytes, const std::int8_t* codes,
                                                      std::size_t columns) {
    __m256i chain[kRows][kVectors];
    add_products<kRows, kVectors, kQuad, kPart, 0>(chain, unit, apart_bytes, codes, columns);
    // The high nibble counts sixteen times.
    const __m256i weight = _mm256_set1_epi16(kPart == 1 ? 16 : 1);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const __m256i wide = _mm256_madd_epi16(chain[r][v], weight);
        sums[r][v] = kBegins ? wide : _mm256_add_epi32(sums[r][v], wide);
      }
  }

  template <int kRows, int kVectors, int kQuad, int kPart, int kStep>
  [[gnu::always_inline]] static inline void add_products(__m256i (&chain)[kRows][kVectors],
                                                         const std::byte* unit, std::size_t apart_bytes,
                                                         const std::int8_t* codes, std::size_t columns) {
    if constexpr (kStep < kChain) {
      __m256i weights[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        weights[v] = quad<Codes::kBits, kQuad + kStep, kPart>(unit + offset(v, apart_bytes, kHalfBytes));
        if constexpr (Codes::kIsFp4) weights[v] = fp4_codes(weights[v]);
      }
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        __m256i x = broadcast4(codes + static_cast<std::size_t>(r) * columns + 4 * (kQuad + kStep));
        asm("" : "+x"(x));  // else it is loaded anew for each half
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
          const __m256i products = _mm256_maddubs_epi16(weights[v], x);
          chain[r][v] = kStep == 0 ? products : _mm256_add_epi16(chain[r][v], products);
          // Else GCC forms all products first, to add them in a tree, and has no registers for them: half
          // the speed.
          asm("" : "+x"(chain[r][v]));
        }
      }
      add_products<kRows, kVectors, kQuad, kPart, kStep + 1>(chain, unit, apart_bytes, codes, columns);
    }
  }

  static constexpr int kChain = chain_quads(Codes::kBits == 8 ? 15 : Codes::kLargest);
  static constexpr int kSideBySide = 4;  ///< WeightStreams::kFour
  static constexpr std::size_t kAheadBytes = 12 * 1024;
  static constexpr std::size_t kUnitBytes = kPackedTileRows * Codes::kUnitColumns * Codes::kBits / 8;
};

/// Tiles whose single rows take four side by side, for int8_linear_of().
template <typename Codes>
struct SideBySide {
  static void linear(const PackedView& w, const QuantizedRows& x, float* out, std::size_t out_stride,
                     std::size_t rows, std::size_t tile_begin, std::size_t tile_end) {
    Tiles<Codes>::side_by_side(w, x, out, out_stride, rows, tile_begin, tile_end);
  }
};

inline float largest_lane(__m256 v) {
  __m128 half = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  half = _mm_max_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
}

inline std::int32_t lane_sum(__m256i v) {
  __m128i half = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(half, _mm_shuffle_epi32(half, 0xB1)));
}

}  // namespace

void quantize_rows_avx2(const QuantizedTarget& to, const float* x, std::size_t rows, std::size_t columns,
                        std::size_t group) {
  const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);  // undoes the lane-wise packs
  const std::size_t groups = rows * (columns / group);
  for (std::size_t g = 0; g < groups; ++g) {
    const float* values = x + g * group;
    std::int8_t* codes = to.codes + g * group;
    __m256 largest = _mm256_setzero_ps();
    for (std::size_t i = 0; i < group; i += 8)
      largest = _mm256_max_ps(largest, _mm256_and_ps(magnitude, _mm256_loadu_ps(values + i)));
    const float top = largest_lane(largest);
    const __m256 inverse = _mm256_set1_ps(top > 0 ? 127.0F / top : 0.0F);
    const auto rounded = [&](std::size_t i) {
      return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(values + i), inverse));
    };
    __m256i sum = _mm256_setzero_si256();
    if (group == 16) {
      const __m256i low = rounded(0);
      const __m256i high = rounded(8);
      sum = _mm256_add_epi32(low, high);
      const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xD8);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(codes),
                       _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
    }
    for (std::size_t i = 0; i + 32 <= group; i += 32) {
      __m256i part[4];
      for (std::size_t p = 0; p < 4; ++p) {
        part[p] = rounded(i + 8 * p);
        sum = _mm256_add_epi32(sum, part[p]);
      }
      const __m256i bytes =
          _mm256_packs_epi16(_mm256_packs_epi32(part[0], part[1]), _mm256_packs_epi32(part[2], part[3]));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes + i), _mm256_permutevar8x32_epi32(bytes, order));
    }
    const std::int32_t total = lane_sum(sum);
    to.scales[g] = top / 127.0F;
    to.sums[g] = to.scales[g] * static_cast<float>(total);
    to.offsets[g] = -kFp4Zero * total;
  }
}

Int8Kernels int8_kernels_avx2(const WeightSpec& spec, WeightStreams streams) {
  return {.linear =
              streams == WeightStreams::kOne ? int8_linear_of<Tiles>(spec) : int8_linear_of<SideBySide>(spec),
          .quantize_rows = quantize_rows_avx2};
}

}  // namespace lanner::kernels
