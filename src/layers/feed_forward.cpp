// SPDX-License-Identifier: MIT
#include "layers/feed_forward.h"

namespace lanner::layers {
namespace {

const Tensor& rows_of(const Tensor& x) { return x; }
const Tensor& rows_of(const Normed& in) { return in.x; }
device::ProductInput input_of(const Tensor& x) { return {.x = x}; }
device::ProductInput input_of(const Normed& in) { return in.input(); }

}  // namespace

template <typename Input>
Tensor FeedForward::gated(Step& step, const Input& in) const {
  const std::array<const Linear*, 2> linears = {&gate, &up};
  const Tensor& x = rows_of(in);
  if (is_adapted(step, x, linears)) {
    // What adapters add comes before the activation; without them these are the bits of gated_linear().
    const auto [gates, ups] = project(step, in, linears);
    step.ops.gated_activation(step.stream, gates, gates, ups, activation);
    return gates;
  }
  const Tensor gated =
      step.floats({static_cast<std::int64_t>(x.rows()), static_cast<std::int64_t>(gate.weight().rows())});
  step.ops.gated_linear(step.stream, gated, gate.weight(), up.weight(), input_of(in), activation);
  return gated;
}

Tensor FeedForward::operator()(Step& step, const Tensor& x) const { return down(step, gated(step, x)); }

Tensor FeedForward::operator()(Step& step, const Normed& in) const { return down(step, gated(step, in)); }

void FeedForward::add_to(Step& step, const Tensor& out, const Tensor& residual, const Normed& in) const {
  add_product(step, out, residual, down, gated(step, in));
}

}  // namespace lanner::layers
