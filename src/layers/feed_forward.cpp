// SPDX-License-Identifier: MIT
#include "layers/feed_forward.h"

namespace lanner::layers {
namespace {

const Tensor& rows_of(const Tensor& x) { return x; }
const Tensor& rows_of(const Normed& in) { return in.rows(); }
device::ProductInput input_of(const Tensor& x) { return {.x = x}; }
device::ProductInput input_of(const Normed& in) { return in.input(); }

}  // namespace

/// Room for rows between the products.
Tensor FeedForward::inner(Step& step, const Tensor& x) const {
  return step.floats({static_cast<std::int64_t>(x.rows()), static_cast<std::int64_t>(gate.weight().rows())});
}

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
  const Tensor gated = inner(step, x);
  step.ops.gated_linear(step.stream, gated, gate.weight(), up.weight(), input_of(in), activation);
  return gated;
}

bool FeedForward::is_one(const Step& step, const Tensor& x) const {
  const std::array<const Linear*, 3> linears = {&gate, &up, &down};
  return step.ops.can_feed_forward != nullptr && !is_adapted(step, x, linears) &&
         step.ops.can_feed_forward(x.rows(), gate.weight(), up.weight(), down.weight());
}

template <typename Input>
void FeedForward::run(Step& step, const Tensor& out, const Tensor& residual, const Input& in) const {
  step.ops.feed_forward(step.stream, {.out = out,
                                      .residual = residual,
                                      .in = input_of(in),
                                      .gated = inner(step, rows_of(in)),
                                      .gate = &gate.weight(),
                                      .up = &up.weight(),
                                      .down = &down.weight(),
                                      .activation = activation});
}

template <typename Input>
Tensor FeedForward::output(Step& step, const Input& in) const {
  const Tensor& x = rows_of(in);
  if (!is_one(step, x)) return down(step, gated(step, in));
  const Tensor out =
      step.floats({static_cast<std::int64_t>(x.rows()), static_cast<std::int64_t>(down.weight().rows())});
  run(step, out, {}, in);
  return out;
}

void FeedForward::into(Step& step, const Tensor& out, const Normed& in) const {
  if (is_one(step, in.rows())) return run(step, out, {}, in);
  down.into(step, out, gated(step, in));
}

Tensor FeedForward::operator()(Step& step, const Tensor& x) const { return output(step, x); }

Tensor FeedForward::operator()(Step& step, const Normed& in) const { return output(step, in); }

void FeedForward::add_to(Step& step, const Tensor& out, const Tensor& residual, const Normed& in) const {
  if (is_one(step, in.rows())) return run(step, out, residual, in);
  add_product(step, out, residual, down, gated(step, in));
}

}  // namespace lanner::layers
