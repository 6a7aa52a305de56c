// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "cache/layer_spec.h"
#include "cache/recurrent_cache.h"
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

  /// norm(x) [T, D] → residual + the mixer's output [T, D]; appends to the recurrent cache of `layer` in
  /// every group.
  Tensor operator()(Step& step, const Normed& in, const Tensor& residual, std::size_t layer) const;

 private:
  /// The projections of one step's rows, and what the mixer computes from them.
  struct Rows {
    Tensor m;          ///< [T, channels]
    Tensor z;          ///< [T, Hv*dv]
    Tensor beta;       ///< [T, Hv]
    Tensor log_decay;  ///< [T, Hv]
    Tensor qkv;        ///< [T, channels]
    Tensor o;          ///< [T, Hv*dv]
  };
  void mix(Step& step, const Rows& rows, std::vector<cache::DeltaAppend>& appends, std::size_t layer) const;
  /// The same in one go, for rows that stay in their chunk.
  void mix_few(Step& step, const Rows& rows, std::vector<cache::DeltaAppend>& appends,
               std::size_t layer) const;
  float query_scale() const;
};

}  // namespace lanner::layers
