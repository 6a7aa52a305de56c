// SPDX-License-Identifier: MIT
#include "layers/feed_forward.h"

namespace lanner::layers {

Tensor FeedForward::operator()(Step& step, const Tensor& x) const {
  const Tensor gated =
      step.floats({static_cast<std::int64_t>(x.rows()), static_cast<std::int64_t>(gate.weight().rows())});
  step.ops.gated_linear(step.stream, gated, gate.weight(), up.weight(), x, activation);
  return down(step, gated);
}

Tensor FeedForward::gated(Step& step, const Normed& in) const {
  const Tensor gated =
      step.floats({static_cast<std::int64_t>(in.x.rows()), static_cast<std::int64_t>(gate.weight().rows())});
  if (step.ops.fused != nullptr)
    step.ops.fused->gated_linear(step.stream, gated, gate.weight(), up.weight(), in.input(), activation);
  else
    step.ops.gated_linear(step.stream, gated, gate.weight(), up.weight(), in.norm(step, in.x), activation);
  return gated;
}

Tensor FeedForward::operator()(Step& step, const Normed& in) const { return down(step, gated(step, in)); }

void FeedForward::add_to(Step& step, const Tensor& out, const Tensor& residual, const Normed& in) const {
  add_product(step, out, residual, down, gated(step, in));
}

}  // namespace lanner::layers
