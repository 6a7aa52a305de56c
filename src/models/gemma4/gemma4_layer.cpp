// SPDX-License-Identifier: MIT
#include "models/gemma4/gemma4_layer.h"

#include "layers/attend.h"
#include "layers/tensor_math.h"

namespace lanner::models::gemma4 {
namespace {

using layers::add;
using layers::join_heads;
using layers::split_heads;

}  // namespace

Attention::Projections Attention::project_inputs(Step& step, const Tensor& x) const {
  if (!own) return {q_proj(step, x), {}, {}};
  if (!own->v_proj) {
    const auto [q, k] = layers::project<2>(step, x, {&q_proj, &own->k_proj});
    return {q, k, k};
  }
  const auto [q, k, v] = layers::project<3>(step, x, {&q_proj, &own->k_proj, &*own->v_proj});
  return {q, k, v};
}

Tensor Attention::operator()(Step& step, const Packing& rows, const Tensor& x,
                             const layers::RopeTables& tables) const {
  const Projections raw = project_inputs(step, x);
  const Tensor q = q_norm(step, split_heads(raw.q, heads));
  rope->rotate(step, q, tables);
  if (own) {
    const Tensor k = own->k_norm(step, split_heads(raw.k, own->heads));
    rope->rotate(step, k, tables);
    layers::append_kv(step, layer, k, own->v_norm(step, split_heads(raw.v, own->heads)));
  }
  constexpr float kScale = 1.0F;
  return o_proj(step, join_heads(layers::attend(step, layer, rows, q, kScale)));
}

Tensor DenseFfn::operator()(Step& step, const Tensor& h) const {
  return post_norm(step, mlp(step, pre_norm(step, h)));
}

Tensor MoeFfn::operator()(Step& step, const Tensor& h) const {
  const Tensor dense = post_norm_dense(step, mlp(step, pre_norm(step, h)));
  const layers::Routing routing =
      layers::route(step, router_proj(step, router_norm(step, h)), top_k, expert_scale);
  const Tensor routed = post_norm_experts(step, experts(step, pre_norm_experts(step, h), routing));
  return post_norm(step, add(step, dense, routed));
}

Tensor PerLayerInput::operator()(Step& step, const Tensor& h, const Tensor& input) const {
  return norm(step, projection(step, layers::gelu_mul(step, gate(step, h), input)));
}

Tensor DecoderLayer::operator()(Step& step, const Packing& rows, const Tensor& x, const Tensor& per_layer,
                                const layers::RopeTables& tables) const {
  Tensor h = add(step, x, post_attention_norm(step, attention(step, rows, input_norm(step, x), tables)));
  h = add(step, h, std::visit([&](const auto& ffn) { return ffn(step, h); }, feed_forward));
  if (per_layer_input) h = add(step, h, (*per_layer_input)(step, h, per_layer));
  return layers::scale(step, h, layer_scalar);
}

}  // namespace lanner::models::gemma4
