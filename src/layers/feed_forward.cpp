// SPDX-License-Identifier: MIT
#include "layers/feed_forward.h"

namespace lanner::layers {

Tensor FeedForward::operator()(Step& step, const Tensor& x) const {
  const Tensor gated =
      step.floats({static_cast<std::int64_t>(x.rows()), static_cast<std::int64_t>(gate.weight().rows())});
  step.ops.gated_linear(step.stream, gated, gate.weight(), up.weight(), x, activation);
  return down(step, gated);
}

}  // namespace lanner::layers
