// SPDX-License-Identifier: MIT
#include "models/qwen3_5/qwen3_5_layer.h"

#include <cmath>

#include "layers/attend.h"
#include "layers/tensor_math.h"

namespace lanner::models::qwen3_5 {
namespace {

using layers::add;
using layers::join_heads;
using layers::split_heads;

/// y[t] * sigmoid(gate[t]), gate [rows, 1]
Tensor gate_rows(Step& step, const Tensor& y, const Tensor& gate) {
  const Tensor out = step.floats(y.shape);
  step.ops.gate_rows(step.stream, out, y, gate);
  return out;
}

}  // namespace

Tensor GatedAttention::operator()(Step& step, const layers::Normed& in, const Tensor& residual,
                                  const layers::RopeTables& tables) const {
  const auto [query_gate, keys, values] = layers::project<3>(step, in, {&q_proj, &k_proj, &v_proj});
  const Tensor k = split_heads(keys, kv_heads);
  const Tensor v = split_heads(values, kv_heads);
  const float scale = 1.0F / std::sqrt(static_cast<float>(head_dim));
  const float* gate = static_cast<const float*>(query_gate.data) + head_dim;
  const Tensor o = layers::attend(
      step, layer, step.all(),
      {.q = query_gate, .query_width = 2 * head_dim, .q_heads = heads, .k = k, .v = v},
      {.q = q_norm, .k = &k_norm}, *rope, tables, {.scale = scale, .gate = gate, .gate_head = 2 * head_dim});
  return layers::add_product(step, residual, o_proj, join_heads(o));
}

void MoeFfn::add_routed(Step& step, const Tensor& out, const Tensor& residual,
                        const layers::Normed& in) const {
  const auto [logits, gate] = layers::project<2>(step, in, {&router, &shared_gate});
  if (!with_shared.gate.empty())
    return with_shared.run_routed(step, out, in,
                                  {.logits = logits, .k = top_k, .shared_gate = gate, .residual = residual});
  experts.run_routed(step, out, in, {.logits = logits, .k = top_k, .residual = residual});
  step.ops.add(step.stream, out, out, gate_rows(step, shared(step, in), gate));
}

void MoeFfn::add_to(Step& step, const Tensor& out, const Tensor& residual, const layers::Normed& in) const {
  if (step.ops.routed_experts != nullptr) return add_routed(step, out, residual, in);
  const Tensor x = in(step);
  const layers::Routing routing = layers::route(step, router(step, x), top_k);
  const Tensor routed = experts(step, x, routing);
  const Tensor both = add(step, routed, gate_rows(step, shared(step, x), shared_gate(step, x)));
  step.ops.add(step.stream, out, residual, both);
}

void DecoderLayer::operator()(Step& step, const Tensor& x, const layers::RopeTables& tables) const {
  const layers::Normed normed{input_norm, x};
  const auto* delta_net = std::get_if<layers::GatedDeltaNet>(&mixer);
  const Tensor h = delta_net != nullptr ? (*delta_net)(step, normed, x, index)
                                        : std::get<GatedAttention>(mixer)(step, normed, x, tables);
  std::visit([&](const auto& ffn) { ffn.add_to(step, x, h, {post_attention_norm, h}); }, feed_forward);
}

}  // namespace lanner::models::qwen3_5
