// SPDX-License-Identifier: MIT
#pragma once

#include "layers/step.h"

namespace lanner::layers {

/// Root-mean-square norm over the innermost axis. The gain is what multiplies (families that store gain - 1
/// add the one at load); an RmsNorm without data has no gain. The weight's owner is the model.
struct RmsNorm {
  Tensor weight;  ///< [D] float, or empty
  float eps = 1e-6F;

  /// x [..., D] → the same shape
  Tensor operator()(Step& step, const Tensor& x) const;
};

/// out = (x + norm(y)) * factor; out may be x.
void add_normed(Step& step, const Tensor& out, const Tensor& x, const RmsNorm& norm, const Tensor& y,
                float factor = 1);

/// out = x_norm(x) + y_norm(y)
void add_norms(Step& step, const Tensor& out, const RmsNorm& x_norm, const Tensor& x, const RmsNorm& y_norm,
               const Tensor& y);

}  // namespace lanner::layers
