// SPDX-License-Identifier: MIT
// For .cu files: gated activations.
#pragma once

#include "kernels/linear/linear.cuda.h"

namespace lanner::kernels {

/// act(x) * up
__device__ inline float gated(ProductGate gate, float x, float up) {
  const float u = gate == ProductGate::kGelu ? 2.0F * 0.79788456080286536F * (x + 0.044715F * x * x * x) : x;
  return x / (1.0F + expf(-u)) * up;
}

}  // namespace lanner::kernels
