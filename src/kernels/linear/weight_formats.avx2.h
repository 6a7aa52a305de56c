// SPDX-License-Identifier: MIT
// For ISA files only: everything has internal linkage.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/linear/fp_scales.h"
#include "kernels/linear/simd.avx2.h"
#include "kernels/linear/weight_rows.h"

// A format turns stored bytes into vectors of float weights: step<S> gives columns [8*S, 8*S + 8) of the
// block that starts at `block`. Reads never pass the end of a block.

namespace lanner::kernels {
namespace {

/// Element type of dense weights, scales and biases.
struct F32Lanes {
  static constexpr std::size_t kBytes = 4;
  static __m256 load8(const std::uint8_t* from) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(from));
  }
  static __m256 broadcast(const std::uint8_t* from) { return _mm256_set1_ps(load_as<float>(from)); }
};
struct F16Lanes {
  static constexpr std::size_t kBytes = 2;
  static __m256 load8(const std::uint8_t* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static __m256 broadcast(const std::uint8_t* from) {
    return _mm256_cvtph_ps(_mm_set1_epi16(load_as<short>(from)));
  }
};
struct BF16Lanes {
  static constexpr std::size_t kBytes = 2;
  static __m256 load8(const std::uint8_t* from) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
  }
  static __m256 broadcast(const std::uint8_t* from) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_set1_epi16(load_as<short>(from)), 16));
  }
};

template <typename Element>
struct DenseFormat : DenseRows<Element> {
  template <int S>
  static __m256 step(const std::uint8_t* block, const NoGroup& /*group*/) {
    return Element::load8(block + S * 8 * Element::kBytes);
  }
  /// count < 8 elements, then zeros.
  static __m256 part(const std::uint8_t* from, std::size_t count) {
    alignas(32) std::uint8_t padded[8 * Element::kBytes] = {};
    for (std::size_t i = 0; i < count * Element::kBytes; ++i) padded[i] = from[i];
    return Element::load8(padded);
  }
};

/// Spreads 8 codes of a block of 32 over 8 dwords: code in the low bits, neighbours' bits above it.
template <int kBits, int S>
inline __m256i spread_codes(const std::uint8_t* block) {
  if constexpr (kBits == 8) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(block + 8 * S)));
  } else if constexpr (kBits <= 4) {
    constexpr int kByte = kBits == 2 ? S / 2 * 4 : (S == 3 ? 4 * kBits - 4 : kBits * S);
    constexpr int kShift = S * 8 * kBits - 8 * kByte;
    const __m256i shifts =
        _mm256_setr_epi32(kShift, kShift + kBits, kShift + 2 * kBits, kShift + 3 * kBits, kShift + 4 * kBits,
                          kShift + 5 * kBits, kShift + 6 * kBits, kShift + 7 * kBits);
    return _mm256_srlv_epi32(_mm256_set1_epi32(load_as<int>(block + kByte)), shifts);
  } else {
    constexpr int kByte = S == 3 ? 4 * kBits - 8 : kBits * S;
    constexpr int kFirst = kBits * S - kByte;
    // Two bytes hold any code: lane j takes bytes kFirst + j*kBits/8 and the next one.
    constexpr auto kPair = [](int j) {
      const int byte = kFirst + j * kBits / 8;
      return static_cast<int>(0x80800000U | static_cast<unsigned>((byte + 1) << 8 | byte));
    };
    const __m256i pairs =
        _mm256_setr_epi32(kPair(0), kPair(1), kPair(2), kPair(3), kPair(4), kPair(5), kPair(6), kPair(7));
    const __m256i shifts = _mm256_setr_epi32(0, kBits % 8, 2 * kBits % 8, 3 * kBits % 8, 4 * kBits % 8,
                                             5 * kBits % 8, 6 * kBits % 8, 7 * kBits % 8);
    const __m256i bytes = _mm256_set1_epi64x(load_as<long long>(block + kByte));
    return _mm256_srlv_epi32(_mm256_shuffle_epi8(bytes, pairs), shifts);
  }
}

template <int kBits, typename Scale>
struct AffineFormat : AffineRows<kBits, Scale::kBytes> {
  /// Up to 3 bits: the weights of codes 0 to 7, looked up by a permute that ignores the bits above the code.
  /// Above: scale and bias.
  struct Group {
    __m256 first, second;
  };
  static Group group(const AffineRow& row, std::size_t index) {
    const __m256 scale = Scale::broadcast(row.scales + index * Scale::kBytes);
    const __m256 bias = Scale::broadcast(row.biases + index * Scale::kBytes);
    if constexpr (kBits <= 3) {
      const __m256 codes =
          kBits == 2 ? _mm256_setr_ps(0, 1, 2, 3, 0, 1, 2, 3) : _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7);
      return {_mm256_fmadd_ps(scale, codes, bias), bias};
    } else {
      return {scale, bias};
    }
  }
  template <int S>
  static __m256 step(const std::uint8_t* block, const Group& group) {
    __m256i codes = spread_codes<kBits, S>(block);
    if constexpr (kBits <= 3) return _mm256_permutevar8x32_ps(group.first, codes);
    if constexpr (kBits < 8) codes = _mm256_and_si256(codes, _mm256_set1_epi32((1 << kBits) - 1));
    return _mm256_fmadd_ps(group.first, _mm256_cvtepi32_ps(codes), group.second);
  }
};

/// E2M1 elements: a permute looks up the magnitude times the scale, the sign bit is moved into place.
template <int kGroup, float (*kScale)(std::uint8_t)>
struct Fp4Format : FpRows<4, kGroup> {
  struct Group {
    __m256 values;
  };
  static Group group(const FpRow& row, std::size_t index) {
    const __m256 magnitudes = _mm256_setr_ps(0, 0.5F, 1, 1.5F, 2, 3, 4, 6);
    return {_mm256_mul_ps(magnitudes, _mm256_set1_ps(kScale(row.scales[index])))};
  }
  template <int S>
  static __m256 step(const std::uint8_t* block, const Group& group) {
    const __m256i word = _mm256_set1_epi32(load_as<int>(block + 4 * S));
    const __m256i codes = _mm256_srlv_epi32(word, _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
    const __m256i raised = _mm256_sllv_epi32(word, _mm256_setr_epi32(28, 24, 20, 16, 12, 8, 4, 0));
    const __m256 sign = _mm256_and_ps(_mm256_castsi256_ps(raised), _mm256_set1_ps(-0.0F));
    return _mm256_xor_ps(_mm256_permutevar8x32_ps(group.values, codes), sign);
  }
};

/// E4M3 elements: exponent and mantissa moved to float's place, where 2^120 corrects the exponent bias and
/// makes subnormals come out right.
struct Mxfp8Format : FpRows<8, 32> {
  struct Group {
    __m256 scale;
  };
  static Group group(const FpRow& row, std::size_t index) {
    return {_mm256_set1_ps(e8m0_scale(row.scales[index]))};
  }
  template <int S>
  static __m256 step(const std::uint8_t* block, const Group& group) {
    const __m256i codes = spread_codes<8, S>(block);
    const __m256i magnitude = _mm256_slli_epi32(_mm256_and_si256(codes, _mm256_set1_epi32(0x7f)), 20);
    const __m256i sign = _mm256_slli_epi32(_mm256_and_si256(codes, _mm256_set1_epi32(0x80)), 24);
    const __m256 value = _mm256_castsi256_ps(_mm256_or_si256(magnitude, sign));
    return _mm256_mul_ps(_mm256_mul_ps(value, _mm256_set1_ps(0x1p120F)), group.scale);
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
