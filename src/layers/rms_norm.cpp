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

}  // namespace lanner::layers
