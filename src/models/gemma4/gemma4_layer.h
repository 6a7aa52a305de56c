// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <variant>

#include "layers/feed_forward.h"
#include "layers/linear.h"
#include "layers/moe.h"
#include "layers/residual.h"
#include "layers/rms_norm.h"
#include "layers/rope.h"

namespace lanner::models::gemma4 {

using layers::Linear;
using layers::Packing;
using layers::Residual;
using layers::RmsNorm;
using layers::Step;

/// Projections of a layer that owns keys and values.
struct KeyValue {
  Linear k_proj;
  std::optional<Linear> v_proj;  ///< none: the values are the keys before their norm
  RmsNorm k_norm;
  RmsNorm v_norm;  ///< without gain
  std::size_t heads = 0;
};

/// Attention with scale 1: queries and keys are normalised per head. A layer without KeyValue reads the keys
/// and values of its donor. Source: Gemma4TextAttention, transformers 5.17.
struct Attention {
  std::size_t layer = 0;
  std::size_t heads = 0;
  std::size_t head_dim = 0;
  Linear q_proj;
  RmsNorm q_norm;
  std::optional<KeyValue> own;
  Linear o_proj;
  const layers::Rope* rope = nullptr;

  /// norm(x) [rows, H] → out [rows, H]; `tables` are this layer type's angles for the same rows.
  void operator()(Step& step, const Tensor& out, const Packing& rows, const layers::Normed& in,
                  const layers::RopeTables& tables) const;

 private:
  struct Projections {
    Tensor q;
    Tensor k;  ///< not set for a layer that shares
    Tensor v;  ///< before its norm; k itself when the values are the keys
  };
  Projections project_inputs(Step& step, const layers::Normed& in) const;
};

/// Dense feed-forward between its two norms.
struct DenseFfn {
  RmsNorm pre_norm;
  layers::FeedForward mlp;
  RmsNorm post_norm;

  /// h [rows, H] → out [rows, H], before post_norm
  void operator()(Step& step, const Tensor& out, Residual& h) const;
};

/// Dense branch and routed experts side by side. Source: Gemma4TextDecoderLayer and Gemma4TextRouter,
/// transformers 5.17.
struct MoeFfn {
  RmsNorm pre_norm;
  layers::FeedForward mlp;
  RmsNorm post_norm_dense;
  RmsNorm router_norm;  ///< gain = router.scale / sqrt(H)
  Linear router_proj;
  Tensor expert_scale;  ///< [E], multiplies the renormalised weights
  std::size_t top_k = 0;
  RmsNorm pre_norm_experts;
  layers::Experts experts;
  RmsNorm post_norm_experts;
  RmsNorm post_norm;

  /// h [rows, H] → out [rows, H], before post_norm
  void operator()(Step& step, const Tensor& out, Residual& h) const;
};

/// Adds what the token says to this layer in particular.
struct PerLayerInput {
  Linear gate;        ///< [P, H]
  Linear projection;  ///< [H, P]
  RmsNorm norm;

  /// h [rows, H], input [rows, P] → out [rows, H], whose norm is to be added
  void operator()(Step& step, const Tensor& out, Residual& h, const Tensor& input) const;
};

/// One decoder layer. Source: Gemma4TextDecoderLayer.forward, transformers 5.17.
struct DecoderLayer {
  RmsNorm input_norm;
  Attention attention;
  RmsNorm post_attention_norm;
  std::variant<DenseFfn, MoeFfn> feed_forward;
  std::optional<PerLayerInput> per_layer_input;
  float layer_scalar = 1;

  /// x [rows, H] becomes the layer's output; per_layer [rows, P] when the layer has a PerLayerInput.
  void operator()(Step& step, const Packing& rows, Residual& x, const Tensor& per_layer,
                  const layers::RopeTables& tables) const;
};

}  // namespace lanner::models::gemma4
