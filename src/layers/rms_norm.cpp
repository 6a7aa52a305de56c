// SPDX-License-Identifier: MIT
#include "layers/rms_norm.h"

namespace lanner::layers {

Tensor RmsNorm::operator()(Step& step, const Tensor& x) const {
  const Tensor out = step.floats(x.shape);
  step.ops.rms_norm(step.stream, out, x, weight, eps);
  return out;
}

void add_normed(Step& step, const Tensor& out, const Tensor& x, const RmsNorm& norm, const Tensor& y,
                float factor) {
  step.ops.add_norm(step.stream, out, x, y, norm.weight, norm.eps, factor);
}

void add_norms(Step& step, const Tensor& out, const RmsNorm& x_norm, const Tensor& x, const RmsNorm& y_norm,
               const Tensor& y) {
  if (step.ops.add_norms == nullptr) return add_normed(step, out, x_norm(step, x), y_norm, y);
  step.ops.add_norms(step.stream, out, {.x = x, .gain = x_norm.weight, .eps = x_norm.eps},
                     {.x = y, .gain = y_norm.weight, .eps = y_norm.eps});
}

}  // namespace lanner::layers
