// SPDX-License-Identifier: MIT
#pragma once

#include "layers/linear.h"

namespace lanner::layers {

/// down( act(gate x) * up x ), act = gelu_tanh (Gemma) or silu (Qwen).
struct FeedForward {
  Linear gate;
  Linear up;
  Linear down;
  device::GatedActivation activation = device::GatedActivation::kSilu;

  /// x [T, D] → [T, D]
  Tensor operator()(Step& step, const Tensor& x) const;
};

}  // namespace lanner::layers
