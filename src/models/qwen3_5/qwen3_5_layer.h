// SPDX-License-Identifier: MIT
#pragma once

#include <variant>

#include "layers/feed_forward.h"
#include "layers/gated_delta_net.h"
#include "layers/linear.h"
#include "layers/moe.h"
#include "layers/rms_norm.h"
#include "layers/rope.h"

namespace lanner::models::qwen3_5 {

using layers::Linear;
using layers::RmsNorm;
using layers::Step;

/// Full attention whose output is gated by its own query projection. Source: Qwen3_5Attention,
/// transformers 5.17.
struct GatedAttention {
  std::size_t layer = 0;
  std::size_t heads = 0;
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;
  Linear q_proj;  ///< [2*Hq*D, H]: per head the query rows, then the gate rows
  Linear k_proj;
  Linear v_proj;
  RmsNorm q_norm;
  RmsNorm k_norm;
  Linear o_proj;
  const layers::Rope* rope = nullptr;

  /// norm(x) [rows, H] → residual + the attention's output [rows, H]
  Tensor operator()(Step& step, const layers::Normed& in, const Tensor& residual,
                    const layers::RopeTables& tables) const;
};

/// Routed experts and one shared expert behind a sigmoid gate. Source: Qwen3_5MoeSparseMoeBlock,
/// transformers 5.17.
struct MoeFfn {
  Linear router;
  std::size_t top_k = 0;
  layers::Experts experts;
  layers::FeedForward shared;
  Linear shared_gate;  ///< [1, H]
  /// Of devices that route and run experts in one go, where the shared expert is like the others: all of
  /// them; else none.
  layers::Experts with_shared = {};

  /// out = residual + the experts' output for norm(x)
  void add_to(Step& step, const Tensor& out, const Tensor& residual, const layers::Normed& in) const;

 private:
  void add_routed(Step& step, const Tensor& out, const Tensor& residual, const layers::Normed& in) const;
};

/// One decoder layer. Source: Qwen3_5DecoderLayer.forward, transformers 5.17.
struct DecoderLayer {
  std::size_t index = 0;
  RmsNorm input_norm;
  std::variant<layers::GatedDeltaNet, GatedAttention> mixer;
  RmsNorm post_attention_norm;
  std::variant<layers::FeedForward, MoeFfn> feed_forward;

  /// x [rows, H] becomes the layer's output.
  void operator()(Step& step, const Tensor& x, const layers::RopeTables& tables) const;
};

}  // namespace lanner::models::qwen3_5
