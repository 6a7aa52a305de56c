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
  /// norm(x) [T, D] → [T, D]
  Tensor operator()(Step& step, const Normed& in) const;
  void into(Step& step, const Tensor& out, const Normed& in) const;
  /// out = residual + the feed-forward of norm(x)
  void add_to(Step& step, const Tensor& out, const Tensor& residual, const Normed& in) const;

 private:
  Tensor inner(Step& step, const Tensor& x) const;
  template <typename Input>
  Tensor gated(Step& step, const Input& in) const;
  /// True when the device takes these rows through all of it at once.
  bool is_one(const Step& step, const Tensor& x) const;
  template <typename Input>
  void run(Step& step, const Tensor& out, const Tensor& residual, const Input& in) const;
  template <typename Input>
  Tensor output(Step& step, const Input& in) const;
};

}  // namespace lanner::layers
