// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/queue.h"

namespace lanner::kernels {

/// cos, sin [rows, F] of positions[t][axes[f]] * frequencies[f], times amplitude. Inputs in device memory.
/// The angle is a float product, as in the reference. batch-invariant: yes.
struct RopeTablesCudaArgs {
  float* cos = nullptr;
  float* sin = nullptr;
  const float* frequencies = nullptr;
  const std::uint8_t* axes = nullptr;
  const std::int32_t* positions = nullptr;  ///< [rows, 3]
  std::size_t rows = 0;
  std::size_t count = 0;  ///< F
  float amplitude = 1;
};
void rope_tables_cuda(CudaQueue& queue, const RopeTablesCudaArgs& args);

}  // namespace lanner::kernels
