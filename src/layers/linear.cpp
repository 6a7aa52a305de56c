// SPDX-License-Identifier: MIT
#include "layers/linear.h"

#include <algorithm>
#include <vector>

namespace lanner::layers {

Tensor Linear::operator()(Step& step, const Tensor& x) const { return project<1>(step, x, {this})[0]; }

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

Tensor add_product(Step& step, const Tensor& residual, const Linear& w, const Tensor& x) {
  const Tensor out = step.floats(residual.shape);
  add_product(step, out, residual, w, x);
  return out;
}

}  // namespace lanner::layers
