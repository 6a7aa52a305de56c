// SPDX-License-Identifier: MIT
#include "layers/linear.h"

#include <algorithm>
#include <vector>

#include "layers/tensor_math.h"

namespace lanner::layers {

Tensor Linear::operator()(Step& step, const Tensor& x) const { return project<1>(step, x, {this})[0]; }

void Linear::into(Step& step, const Tensor& out, const Tensor& x) const {
  const device::LinearCall call{.out = out, .w = &weight_};
  step.ops.linear(step.stream, {&call, 1}, {.x = x});
  const Linear* const linear = this;
  add_adapters(step, x, {&out, 1}, {&linear, 1});
}

device::ProductInput Normed::input() const {
  device::ProductInput in = residual_ != nullptr ? residual_->input() : device::ProductInput{.x = *x_};
  in.norm = true;
  in.gain = norm_->weight;
  in.eps = norm_->eps;
  return in;
}

Tensor Normed::operator()(Step& step) const {
  return (*norm_)(step, residual_ != nullptr ? residual_->states(step) : *x_);
}

bool is_adapted(const Step& step, const Tensor& x, std::span<const Linear* const> linears) {
  return std::ranges::any_of(step.adapted(x), [&](const Packing::Adapted& rows) {
    return std::ranges::any_of(linears,
                               [&](const Linear* linear) { return !linear->parts(*rows.adapters).empty(); });
  });
}

void add_adapters(Step& step, const Tensor& x, std::span<const Tensor> outs,
                  std::span<const Linear* const> linears) {
  std::vector<device::LowRankCall> calls;
  for (const auto& [rows, adapters] : step.adapted(x))
    for (std::size_t i = 0; i < linears.size(); ++i)
      if (const auto parts = linears[i]->parts(*adapters); !parts.empty())
        calls.push_back({.out = part(outs[i], rows), .x = part(x, rows), .parts = parts});
  if (!calls.empty()) step.ops.add_low_rank(step.stream, calls);
}

void add_product(Step& step, const Tensor& out, const Tensor& residual, const Linear& w, const Tensor& x) {
  const Linear* const linear = &w;
  if (is_adapted(step, x, {&linear, 1})) return step.ops.add(step.stream, out, residual, w(step, x));
  const device::LinearCall call{.out = out, .w = &w.weight(), .residual = residual};
  step.ops.linear(step.stream, {&call, 1}, {.x = x});
}

Tensor gelu_product(Step& step, const Linear& w, Residual& x, const Tensor& up) {
  const Linear* const linear = &w;
  // What adapters add comes before the activation; without them these are the bits of one product.
  if (is_adapted(step, x.rows(), {&linear, 1})) return gelu_mul(step, w(step, x.states(step)), up);
  const Tensor out = step.floats(up.shape);
  const device::LinearCall call{
      .out = out, .w = &w.weight(), .up = up, .activation = device::GatedActivation::kGeluTanh};
  step.ops.linear(step.stream, {&call, 1}, x.input());
  return out;
}

Tensor add_product(Step& step, const Tensor& residual, const Linear& w, const Tensor& x) {
  const Tensor out = step.floats(residual.shape);
  add_product(step, out, residual, w, x);
  return out;
}

}  // namespace lanner::layers
