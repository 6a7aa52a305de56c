// SPDX-License-Identifier: MIT
// For ISA files only: instantiated with types of internal linkage, so every function here is local to its
// file.
#pragma once

#include "kernels/linear/linear_tiles.h"

namespace lanner::kernels {

/// The kernels of one instruction set. Set names its vector type and its formats.
template <typename Set>
class LinearTable {
 public:
  /// For a checked spec.
  static LinearKernels find(const WeightSpec& spec) {
    switch (spec.format) {
      case WeightFormat::kMxfp4:
        return kernels_for<typename Set::Mxfp4>();
      case WeightFormat::kNvfp4:
        return kernels_for<typename Set::Nvfp4>();
      case WeightFormat::kMxfp8:
        return kernels_for<typename Set::Mxfp8>();
      default:
        break;
    }
    if (spec.dtype == DType::kF32) return find_float<typename Set::F32>(spec);
    if (spec.dtype == DType::kF16) return find_float<typename Set::F16>(spec);
    return find_float<typename Set::BF16>(spec);
  }

 private:
  template <typename Format>
  static LinearKernels kernels_for() {
    using Tiles = LinearTiles<typename Set::Simd, Format>;
    return {Tiles::linear, Tiles::dequantize_row};
  }

  template <typename Element>
  static LinearKernels find_float(const WeightSpec& spec) {
    if (spec.format == WeightFormat::kDense) return kernels_for<typename Set::template Dense<Element>>();
    switch (spec.bits) {
      case 2:
        return kernels_for<typename Set::template Affine<2, Element>>();
      case 3:
        return kernels_for<typename Set::template Affine<3, Element>>();
      case 4:
        return kernels_for<typename Set::template Affine<4, Element>>();
      case 5:
        return kernels_for<typename Set::template Affine<5, Element>>();
      case 6:
        return kernels_for<typename Set::template Affine<6, Element>>();
      default:
        return kernels_for<typename Set::template Affine<8, Element>>();
    }
  }
};

}  // namespace lanner::kernels
