// SPDX-License-Identifier: MIT
// For ISA files only: everything has internal linkage.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/linear/fp_scales.h"
#include "kernels/linear/simd.avx512.h"
#include "kernels/linear/weight_rows.h"

// As weight_formats.avx2.h with 16 lanes: step<S> gives columns [16*S, 16*S + 16) of a block. Codes of up to
// 5 bits look their weight up in a register table of the group's values, which saves convert and FMA.

namespace lanner::kernels {
namespace {

/// Element type of dense weights, scales and biases.
struct F32Lanes {
  static constexpr std::size_t kBytes = 4;
  static __m512 load16(const std::uint8_t* from) { return _mm512_loadu_ps(from); }
  static __m512 broadcast(const std::uint8_t* from) { return _mm512_set1_ps(load_as<float>(from)); }
};
struct F16Lanes {
  static constexpr std::size_t kBytes = 2;
  static __m512 load16(const std::uint8_t* from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  static __m512 broadcast(const std::uint8_t* from) {
    return _mm512_cvtph_ps(_mm256_set1_epi16(load_as<short>(from)));
  }
};
struct BF16Lanes {
  static constexpr std::size_t kBytes = 2;
  static __m512 load16(const std::uint8_t* from) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  }
  static __m512 broadcast(const std::uint8_t* from) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_set1_epi16(load_as<short>(from)), 16));
  }
};

template <typename Element>
struct DenseFormat : DenseRows<Element> {
  template <int S>
  static __m512 step(const std::uint8_t* block, const NoGroup& /*group*/) {
    return Element::load16(block + S * 16 * Element::kBytes);
  }
  /// count < 16 elements, then zeros.
  static __m512 part(const std::uint8_t* from, std::size_t count) {
    alignas(64) std::uint8_t padded[16 * Element::kBytes] = {};
    for (std::size_t i = 0; i < count * Element::kBytes; ++i) padded[i] = from[i];
    return Element::load16(padded);
  }
};

/// Spreads 16 codes of a block of 32 over 16 dwords: code in the low bits, neighbours' bits above it.
template <int kBits, int S>
inline __m512i spread_codes(const std::uint8_t* block) {
  if constexpr (kBits == 8) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 16 * S)));
  } else {
    // Every 128-bit lane gets the bytes of the 16 codes; lane j then takes the two bytes its code lies in.
    constexpr int kLoad = kBits <= 3 ? 8 : 16;
    constexpr int kByte = S == 0 ? 0 : 4 * kBits - kLoad;
    constexpr int kFirst = 2 * kBits * S - kByte;
    constexpr auto kPair = [](int j) {
      const int byte = kFirst + j * kBits / 8;
      const int next = byte + 1 < 16 ? byte + 1 : 0x80;
      return static_cast<int>(0x80800000U | static_cast<unsigned>(next << 8 | byte));
    };
    const __m512i pairs = _mm512_setr_epi32(kPair(0), kPair(1), kPair(2), kPair(3), kPair(4), kPair(5),
                                            kPair(6), kPair(7), kPair(8), kPair(9), kPair(10), kPair(11),
                                            kPair(12), kPair(13), kPair(14), kPair(15));
    constexpr auto kShift = [](int j) { return j * kBits % 8; };
    const __m512i shifts = _mm512_setr_epi32(kShift(0), kShift(1), kShift(2), kShift(3), kShift(4), kShift(5),
                                             kShift(6), kShift(7), kShift(8), kShift(9), kShift(10),
                                             kShift(11), kShift(12), kShift(13), kShift(14), kShift(15));
    __m512i bytes;
    if constexpr (kLoad == 8)
      bytes = _mm512_set1_epi64(load_as<long long>(block + kByte));
    else
      bytes = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(block + kByte)));
    return _mm512_srlv_epi32(_mm512_shuffle_epi8(bytes, pairs), shifts);
  }
}

template <int kBits>
inline __m512 low_codes() {
  constexpr int kMask = kBits < 4 ? (1 << kBits) - 1 : 15;
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return _mm512_cvtepi32_ps(_mm512_and_si512(lane, _mm512_set1_epi32(kMask)));
}

template <int kBits, typename Scale>
struct AffineFormat : AffineRows<kBits, Scale::kBytes> {
  /// Up to 5 bits: the weights of codes 0 to 15 and 16 to 31. Above: scale and bias.
  struct Group {
    __m512 first, second;
  };
  static Group group(const AffineRow& row, std::size_t index) {
    const __m512 scale = Scale::broadcast(row.scales + index * Scale::kBytes);
    const __m512 bias = Scale::broadcast(row.biases + index * Scale::kBytes);
    if constexpr (kBits <= 5) {
      const __m512 codes = low_codes<kBits>();
      return {_mm512_fmadd_ps(scale, codes, bias),
              _mm512_fmadd_ps(scale, _mm512_add_ps(codes, _mm512_set1_ps(16)), bias)};
    } else {
      return {scale, bias};
    }
  }
  template <int S>
  static __m512 step(const std::uint8_t* block, const Group& group) {
    __m512i codes = spread_codes<kBits, S>(block);
    if constexpr (kBits <= 4) return _mm512_permutexvar_ps(codes, group.first);
    if constexpr (kBits == 5) return _mm512_permutex2var_ps(group.first, codes, group.second);
    if constexpr (kBits == 6) codes = _mm512_and_si512(codes, _mm512_set1_epi32(63));
    return _mm512_fmadd_ps(group.first, _mm512_cvtepi32_ps(codes), group.second);
  }
};

/// E2M1 elements: a permute looks the signed value times the scale up.
template <int kGroup, float (*kScale)(std::uint8_t)>
struct Fp4Format : FpRows<4, kGroup> {
  struct Group {
    __m512 values;
  };
  static Group group(const FpRow& row, std::size_t index) {
    const __m512 values =
        _mm512_setr_ps(0, 0.5F, 1, 1.5F, 2, 3, 4, 6, -0.0F, -0.5F, -1, -1.5F, -2, -3, -4, -6);
    return {_mm512_mul_ps(values, _mm512_set1_ps(kScale(row.scales[index])))};
  }
  template <int S>
  static __m512 step(const std::uint8_t* block, const Group& group) {
    const __m512i words = _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1),
        _mm512_castsi128_si512(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(block + 8 * S))));
    const __m512i shifts = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
    return _mm512_permutexvar_ps(_mm512_srlv_epi32(words, shifts), group.values);
  }
};

/// E4M3 elements: exponent and mantissa moved to float's place, where 2^120 corrects the exponent bias and
/// makes subnormals come out right.
struct Mxfp8Format : FpRows<8, 32> {
  struct Group {
    __m512 scale;
  };
  static Group group(const FpRow& row, std::size_t index) {
    return {_mm512_set1_ps(e8m0_scale(row.scales[index]))};
  }
  template <int S>
  static __m512 step(const std::uint8_t* block, const Group& group) {
    const __m512i codes = spread_codes<8, S>(block);
    const __m512i magnitude = _mm512_slli_epi32(_mm512_and_si512(codes, _mm512_set1_epi32(0x7f)), 20);
    const __m512i sign = _mm512_slli_epi32(_mm512_and_si512(codes, _mm512_set1_epi32(0x80)), 24);
    const __m512 value = _mm512_castsi512_ps(_mm512_or_si512(magnitude, sign));
    return _mm512_mul_ps(_mm512_mul_ps(value, _mm512_set1_ps(0x1p120F)), group.scale);
  }
};

/// What LinearTable takes.
struct FormatSet {
  using Simd = kernels::Simd;
  using F32 = F32Lanes;
  using F16 = F16Lanes;
  using BF16 = BF16Lanes;
  template <typename Element>
  using Dense = DenseFormat<Element>;
  template <int kBits, typename Scale>
  using Affine = AffineFormat<kBits, Scale>;
  using Mxfp4 = Fp4Format<32, e8m0_scale>;
  using Nvfp4 = Fp4Format<16, e4m3_scale>;
  using Mxfp8 = Mxfp8Format;
};

}  // namespace
}  // namespace lanner::kernels
