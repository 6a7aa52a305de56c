// SPDX-License-Identifier: MIT
#include "layers/linear.h"

namespace lanner::layers {

Tensor Linear::operator()(Step& step, const Tensor& x) const { return project<1>(step, x, {this})[0]; }

void add_product(Step& step, const Tensor& out, const Tensor& residual, const Linear& w, const Tensor& x) {
  if (step.ops.fused == nullptr) return step.ops.add(step.stream, out, residual, w(step, x));
  const device::AddedProduct product{.out = out, .w = &w.weight(), .residual = residual};
  step.ops.fused->linear(step.stream, {&product, 1}, {.x = x});
}

Tensor add_product(Step& step, const Tensor& residual, const Linear& w, const Tensor& x) {
  const Tensor out = step.floats(residual.shape);
  add_product(step, out, residual, w, x);
  return out;
}

}  // namespace lanner::layers
