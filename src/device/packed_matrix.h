// SPDX-License-Identifier: MIT
#pragma once

#include "core/buffer.h"
#include "core/thread_pool.h"
#include "kernels/linear/int8_linear.h"

namespace lanner::device {

/// A quantized matrix interleaved for products with int8 activations, and its kernels. Owns its memory.
class PackedMatrix {
 public:
  /// Packs with every thread of the pool. The format must be packable.
  PackedMatrix(const kernels::WeightView& weight, Isa isa, ThreadPool& pool);

  const kernels::PackedView& view() const { return view_; }
  const kernels::Int8Kernels& kernels() const { return kernels_; }

 private:
  Buffer memory_;
  kernels::PackedView view_;
  kernels::Int8Kernels kernels_;
};

}  // namespace lanner::device
