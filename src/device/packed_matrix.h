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
  /// One without memory, to plan with: nothing may be multiplied with it.
  static PackedMatrix planned(const kernels::WeightView& weight, Isa isa);

  const kernels::PackedView& view() const { return view_; }
  const kernels::Int8Kernels& kernels() const { return kernels_; }
  std::size_t size_bytes() const { return kernels::packed_bytes(view_.spec, view_.rows, view_.columns); }

 private:
  PackedMatrix(const kernels::WeightView& weight, Isa isa, Buffer memory);

  Buffer memory_;
  kernels::PackedView view_;
  kernels::Int8Kernels kernels_;
};

}  // namespace lanner::device
