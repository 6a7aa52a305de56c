// SPDX-License-Identifier: MIT
#include "layers/rms_norm.h"

namespace lanner::layers {

Tensor RmsNorm::operator()(Step& step, const Tensor& x) const {
  const Tensor out = step.floats(x.shape);
  step.ops.rms_norm(step.stream, out, x, weight, eps);
  return out;
}

}  // namespace lanner::layers
