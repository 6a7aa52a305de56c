// SPDX-License-Identifier: MIT
#include "layers/linear.h"

namespace lanner::layers {

Tensor Linear::operator()(Step& step, const Tensor& x) const {
  const Tensor out =
      step.floats({static_cast<std::int64_t>(x.rows()), static_cast<std::int64_t>(weight_.rows())});
  step.ops.linear(step.stream, out, weight_, x);
  return out;
}

}  // namespace lanner::layers
