// SPDX-License-Identifier: MIT
#include "models/gemma4/gemma4_layer.h"

#include "layers/attend.h"
#include "layers/tensor_math.h"

namespace lanner::models::gemma4 {
namespace {

using layers::join_heads;
using layers::split_heads;

}  // namespace

Attention::Projections Attention::project_inputs(Step& step, const layers::Normed& in) const {
  if (!own) return {layers::project<1>(step, in, {&q_proj})[0], {}, {}};
  if (!own->v_proj) {
    const auto [q, k] = layers::project<2>(step, in, {&q_proj, &own->k_proj});
    return {q, split_heads(k, own->heads), split_heads(k, own->heads)};
  }
  const auto [q, k, v] = layers::project<3>(step, in, {&q_proj, &own->k_proj, &*own->v_proj});
  return {q, split_heads(k, own->heads), split_heads(v, own->heads)};
}

void Attention::operator()(Step& step, const Tensor& out, const Packing& rows, const layers::Normed& in,
                           const layers::RopeTables& tables) const {
  layers::HeadNorms norms{.q = q_norm};
  if (own) {
    norms.k = &own->k_norm;
    norms.v = &own->v_norm;
  }
  const Projections raw = project_inputs(step, in);
  constexpr float kScale = 1.0F;
  const Tensor heads_out = layers::attend(
      step, layer, rows, {.q = raw.q, .query_width = head_dim, .q_heads = heads, .k = raw.k, .v = raw.v},
      norms, *rope, tables, {.scale = kScale});
  o_proj.into(step, out, join_heads(heads_out));
}

void DenseFfn::operator()(Step& step, const Tensor& out, Residual& h) const {
  mlp.into(step, out, {pre_norm, h});
}

void MoeFfn::operator()(Step& step, const Tensor& out, Residual& h) const {
  const Tensor dense = mlp(step, layers::Normed{pre_norm, h});
  const Tensor logits = layers::project<1>(step, layers::Normed{router_norm, h}, {&router_proj})[0];
  const layers::Normed in{pre_norm_experts, h};
  if (step.ops.routed_experts != nullptr) {
    const Tensor routed = step.floats(out.shape);
    experts.run_routed(step, routed, in, {.logits = logits, .k = top_k, .expert_scale = expert_scale});
    return layers::add_norms(step, out, post_norm_dense, dense, post_norm_experts, routed);
  }
  const layers::Routing routing = layers::route(step, logits, top_k, expert_scale);
  layers::add_norms(step, out, post_norm_dense, dense, post_norm_experts, experts(step, in(step), routing));
}

void PerLayerInput::operator()(Step& step, const Tensor& out, Residual& h, const Tensor& input) const {
  projection.into(step, out, layers::gelu_product(step, gate, h, input));
}

void DecoderLayer::operator()(Step& step, const Packing& rows, Residual& x, const Tensor& per_layer,
                              const layers::RopeTables& tables) const {
  attention(step, x.addend(), rows, {input_norm, x}, tables);
  x.add_normed(post_attention_norm);
  const float last = per_layer_input ? 1.0F : layer_scalar;
  std::visit(
      [&](const auto& ffn) {
        ffn(step, x.addend(), x);
        x.add_normed(ffn.post_norm, last);
      },
      feed_forward);
  if (!per_layer_input) return;
  (*per_layer_input)(step, x.addend(), x, per_layer);
  x.add_normed(per_layer_input->norm, layer_scalar);
}

}  // namespace lanner::models::gemma4
