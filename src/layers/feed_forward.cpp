// SPDX-License-Identifier: MIT
#include "layers/feed_forward.h"

namespace lanner::layers {

Tensor FeedForward::operator()(Step& step, const Tensor& x) const {
  const Tensor g = gate(step, x);
  step.ops.gated_activation(step.stream, g, g, up(step, x), activation);
  return down(step, g);
}

}  // namespace lanner::layers
