// SPDX-License-Identifier: MIT
#pragma once

#include "cache/layer_spec.h"
#include "layers/linear.h"
#include "layers/rms_norm.h"

namespace lanner::layers {

/// Gated delta net mixer. Source: Yang et al. 2024; Qwen3_5GatedDeltaNet, transformers 5.17.
struct GatedDeltaNet {
  cache::RecurrentSpec shape;
  Linear in_qkv;   ///< [2*Hk*dk + Hv*dv, D]: q heads, k heads, v heads
  Linear in_z;     ///< [Hv*dv, D], the output gate
  Linear in_b;     ///< [Hv, D], write strength
  Linear in_a;     ///< [Hv, D], decay
  Tensor conv;     ///< [taps, channels]
  Tensor a_log;    ///< [Hv]
  Tensor dt_bias;  ///< [Hv]
  RmsNorm norm;    ///< over dv, plain gain
  Linear out;      ///< [D, Hv*dv]

  /// x [T, D] → [T, D]; appends to the recurrent cache of `layer` in every group.
  Tensor operator()(Step& step, const Tensor& x, std::size_t layer) const;
};

}  // namespace lanner::layers
