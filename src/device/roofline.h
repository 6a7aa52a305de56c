// SPDX-License-Identifier: MIT
#pragma once

#include "core/cpu_features.h"
#include "core/thread_pool.h"

namespace lanner::device {

class CudaDevice;

/// What the threads of a pool reach together, or a GPU, measured.
struct Roofline {
  double read_bytes_per_second = 0;  ///< on a GPU: of a copy, read and written
  double float_ops_per_second = 0;   ///< a multiply and an add are two
  double int8_ops_per_second = 0;
  double half_ops_per_second =
      0;  ///< of a GPU's tensor cores, float sums; the other rates are not measured there

  /// Of the fastest arithmetic for weight products.
  double product_ops_per_second() const {
    return half_ops_per_second > 0 ? half_ops_per_second : int8_ops_per_second;
  }
};

/// Takes about a second and 512 MB. Medians of several runs.
Roofline measure_roofline(Isa isa, ThreadPool& pool);
/// Takes less than a second and 4 GB of the GPU's memory.
Roofline measure_cuda_roofline(CudaDevice& device);

}  // namespace lanner::device
