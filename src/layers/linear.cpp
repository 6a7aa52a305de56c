// SPDX-License-Identifier: MIT
#include "layers/linear.h"

namespace lanner::layers {

Tensor Linear::operator()(Step& step, const Tensor& x) const { return project<1>(step, x, {this})[0]; }

}  // namespace lanner::layers
