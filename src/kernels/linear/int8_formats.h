// SPDX-License-Identifier: MIT
#pragma once

#include "core/dtype.h"
#include "kernels/linear/int8_linear.h"

namespace lanner::kernels {

/// Affine codes of kCodeBits bits with scales and biases of one type.
template <int kCodeBits, DType kTableDtype>
struct AffineCodes {
  static constexpr bool kIsFp4 = false;
  static constexpr int kBits = kCodeBits;
  static constexpr DType kDtype = kTableDtype;
  static constexpr int kLargest = (1 << kBits) - 1;
  static constexpr std::size_t kUnitColumns = kPackedUnitColumns;  ///< columns handled at a time
  static constexpr std::size_t kTableBytes = kPackedTileRows * (kDtype == DType::kF32 ? 4 : 2);
};

/// E2M1 elements as codes of 5 bits, looked up while they are unpacked, with one byte of scale.
template <WeightFormat kWeightFormat>
struct Fp4Codes {
  static constexpr bool kIsFp4 = true;
  static constexpr bool kIsMxfp4 = kWeightFormat == WeightFormat::kMxfp4;
  static constexpr int kBits = 4;
  static constexpr int kLargest = 2 * kFp4Zero;
  static constexpr std::size_t kUnitColumns = kIsMxfp4 ? 32 : 16;
  static constexpr std::size_t kTableBytes = kPackedTileRows;
  static constexpr float kFactor = kIsMxfp4 ? 0.5F : 128.0F;  ///< f of Int8LinearFn
};

/// Tiles<codes>::linear for a format. Each instruction set has its own Tiles.
template <template <typename> class Tiles, DType kDtype>
Int8LinearFn* int8_linear_of_bits(int bits) {
  switch (bits) {
    case 2:
      return Tiles<AffineCodes<2, kDtype>>::linear;
    case 3:
      return Tiles<AffineCodes<3, kDtype>>::linear;
    case 4:
      return Tiles<AffineCodes<4, kDtype>>::linear;
    case 5:
      return Tiles<AffineCodes<5, kDtype>>::linear;
    case 6:
      return Tiles<AffineCodes<6, kDtype>>::linear;
    default:
      return Tiles<AffineCodes<8, kDtype>>::linear;
  }
}

template <template <typename> class Tiles>
Int8LinearFn* int8_linear_of(const WeightSpec& spec) {
  if (spec.format == WeightFormat::kMxfp4) return Tiles<Fp4Codes<WeightFormat::kMxfp4>>::linear;
  if (spec.format == WeightFormat::kNvfp4) return Tiles<Fp4Codes<WeightFormat::kNvfp4>>::linear;
  return spec.dtype == DType::kF32   ? int8_linear_of_bits<Tiles, DType::kF32>(spec.bits)
         : spec.dtype == DType::kF16 ? int8_linear_of_bits<Tiles, DType::kF16>(spec.bits)
                                     : int8_linear_of_bits<Tiles, DType::kBF16>(spec.bits);
}

}  // namespace lanner::kernels
