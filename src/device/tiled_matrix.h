// SPDX-License-Identifier: MIT
#pragma once

#include "core/buffer.h"
#include "kernels/linear/linear.cuda.h"

namespace lanner::device {

/// A matrix arranged for a GPU's tensor cores. Owns its memory.
class TiledMatrix {
 public:
  /// Room for a matrix of this shape in the GPU's memory, `half` for products in half precision; the codes
  /// are the caller's to fill.
  TiledMatrix(const kernels::WeightView& weight, bool half, Memory& memory)
      : memory_(code_bytes(weight) + table_bytes(weight) + (half ? factor_bytes(weight) : 0), memory),
        view_(kernels::tiled_weight(
            weight.spec, weight.rows, weight.columns, memory_.data(), memory_.data() + code_bytes(weight),
            half ? reinterpret_cast<float*>(memory_.data() + code_bytes(weight) + table_bytes(weight))
                 : nullptr)) {}

  const kernels::TiledWeight& view() const { return view_; }

 private:
  static std::size_t code_bytes(const kernels::WeightView& weight) {
    return kernels::tiled_code_bytes(weight.spec, weight.rows, weight.columns);
  }
  static std::size_t table_bytes(const kernels::WeightView& weight) {
    return kernels::tiled_table_bytes(weight.spec, weight.rows, weight.columns);
  }
  static std::size_t factor_bytes(const kernels::WeightView& weight) {
    return (weight.rows + 15) / 16 * 16 * sizeof(float);
  }

  Buffer memory_;
  kernels::TiledWeight view_;
};

}  // namespace lanner::device
