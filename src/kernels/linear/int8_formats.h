// SPDX-License-Identifier: MIT
#pragma once

#include "core/dtype.h"
#include "kernels/linear/int8_linear.h"

namespace lanner::kernels {

/// Tiles<bits, type of scales>::linear for a format. Each instruction set has its own Tiles.
template <template <int, DType> class Tiles, DType kDtype>
Int8LinearFn* int8_linear_of_bits(int bits) {
  switch (bits) {
    case 2:
      return Tiles<2, kDtype>::linear;
    case 3:
      return Tiles<3, kDtype>::linear;
    case 4:
      return Tiles<4, kDtype>::linear;
    case 5:
      return Tiles<5, kDtype>::linear;
    case 6:
      return Tiles<6, kDtype>::linear;
    default:
      return Tiles<8, kDtype>::linear;
  }
}

template <template <int, DType> class Tiles>
Int8LinearFn* int8_linear_of(const WeightSpec& spec) {
  return spec.dtype == DType::kF32   ? int8_linear_of_bits<Tiles, DType::kF32>(spec.bits)
         : spec.dtype == DType::kF16 ? int8_linear_of_bits<Tiles, DType::kF16>(spec.bits)
                                     : int8_linear_of_bits<Tiles, DType::kBF16>(spec.bits);
}

}  // namespace lanner::kernels
