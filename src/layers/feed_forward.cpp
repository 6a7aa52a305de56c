// SPDX-License-Identifier: MIT
#include "layers/feed_forward.h"

#include <algorithm>

namespace lanner::layers {

bool FeedForward::gets_parts(const Step& step, const Tensor& x) const {
  return std::ranges::any_of(step.adapted(x), [&](const Packing::Adapted& rows) {
    return !gate.parts(*rows.adapters).empty() || !up.parts(*rows.adapters).empty();
  });
}

Tensor FeedForward::gated(Step& step, const Tensor& x) const {
  if (gets_parts(step, x)) {
    // What adapters add comes before the activation; without them these are the bits of gated_linear().
    const auto [gates, ups] = project<2>(step, x, {&gate, &up});
    step.ops.gated_activation(step.stream, gates, gates, ups, activation);
    return gates;
  }
  const Tensor gated =
      step.floats({static_cast<std::int64_t>(x.rows()), static_cast<std::int64_t>(gate.weight().rows())});
  step.ops.gated_linear(step.stream, gated, gate.weight(), up.weight(), x, activation);
  return gated;
}

Tensor FeedForward::gated(Step& step, const Normed& in) const {
  if (step.ops.fused == nullptr) return gated(step, in.norm(step, in.x));
  const Tensor gated =
      step.floats({static_cast<std::int64_t>(in.x.rows()), static_cast<std::int64_t>(gate.weight().rows())});
  step.ops.fused->gated_linear(step.stream, gated, gate.weight(), up.weight(), in.input(), activation);
  return gated;
}

Tensor FeedForward::operator()(Step& step, const Tensor& x) const { return down(step, gated(step, x)); }

Tensor FeedForward::operator()(Step& step, const Normed& in) const { return down(step, gated(step, in)); }

void FeedForward::add_to(Step& step, const Tensor& out, const Tensor& residual, const Normed& in) const {
  add_product(step, out, residual, down, gated(step, in));
}

}  // namespace lanner::layers
