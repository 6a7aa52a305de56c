// SPDX-License-Identifier: MIT
#pragma once

#include "core/buffer.h"
#include "kernels/linear/linear.cuda.h"

namespace lanner::device {

/// A matrix arranged for a GPU's tensor cores. Owns its memory.
class TiledMatrix {
 public:
  /// Room for a matrix of this shape in the GPU's memory; the codes are the caller's to fill.
  TiledMatrix(const kernels::WeightView& weight, Memory& memory)
      : memory_(code_bytes(weight) + kernels::tiled_table_bytes(weight.spec, weight.rows, weight.columns),
                memory),
        view_(kernels::tiled_weight(weight.spec, weight.rows, weight.columns, memory_.data(),
                                    memory_.data() + code_bytes(weight))) {}

  const kernels::TiledWeight& view() const { return view_; }

 private:
  static std::size_t code_bytes(const kernels::WeightView& weight) {
    return kernels::tiled_code_bytes(weight.spec, weight.rows, weight.columns);
  }

  Buffer memory_;
  kernels::TiledWeight view_;
};

}  // namespace lanner::device
