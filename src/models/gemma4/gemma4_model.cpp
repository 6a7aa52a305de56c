// SPDX-License-Identifier: MIT
#include "models/gemma4/gemma4_model.h"

#include <algorithm>

#include "layers/tensor_math.h"

namespace lanner::models::gemma4 {

Tensor PerLayerEmbedding::operator()(Step& step, std::span<const TokenId> ids, const Tensor& x) const {
  const auto rows = static_cast<std::int64_t>(ids.size());
  const auto width = norm.weight.shape.back();
  const auto count = static_cast<std::int64_t>(layers);
  const Tensor by_layer = step.floats({count, rows, width});
  const ArenaScope scope(step.arena);  // what follows is as large, and done with here
  const Tensor token = table(step, ids);
  const Tensor context = layers::scale(step, projection(step, x), projection_scale);
  const Tensor normed = norm(step, context.reshaped({rows * count, width}));
  const Tensor mixed = layers::add(step, normed, token.reshaped({rows * count, width}));
  constexpr float kInverseSqrt2 = 0.70710678118654752F;
  step.ops.scale(step.stream, mixed, mixed, kInverseSqrt2);
  step.ops.swap_axes(step.stream, by_layer, mixed.reshaped({rows, count, width}));
  return by_layer;
}

std::vector<TokenId> Gemma4Model::without_media(std::span<const TokenId> ids) const {
  std::vector<TokenId> text(ids.begin(), ids.end());
  for (TokenId& id : text)
    if (std::ranges::find(config_.media_tokens, id) != config_.media_tokens.end()) id = config_.pad_token;
  return text;
}

Gemma4Model::Angles Gemma4Model::angles(Step& step, const Packing& rows) const {
  return {sliding_rope_->tables(step, rows), full_rope_->tables(step, rows)};
}

Tensor Gemma4Model::forward(layers::Step& step) const {
  const Packing* rows = &step.all();
  const Tensor embedded = embed_tokens_(step, step.ids());
  if (step.tap) step.tap(0, embedded);
  Tensor per_layer;
  if (per_layer_embedding_) per_layer = (*per_layer_embedding_)(step, without_media(step.ids()), embedded);
  Residual x(step, embedded);
  Angles tables = angles(step, *rows);

  for (std::size_t i = 0; i < layers_.size(); ++i) {
    // Layers from the first sharer on write no cache, so rows nobody reads end here.
    if (i == config_.kv_owners() && config_.kv_shared_layers > 0 && !step.tap &&
        step.wanted().rows() < rows->rows()) {
      rows = &step.wanted();
      x = Residual(step, step.take_wanted(x.states(step)));
      tables = angles(step, *rows);
    }
    if (rows->rows() == 0) break;
    const ArenaScope layer_scope(step.arena);
    Tensor input;
    if (per_layer_embedding_) {
      input = per_layer.slice(static_cast<std::int64_t>(i), static_cast<std::int64_t>(i) + 1);
      input = input.reshaped({input.shape[1], input.shape[2]});
      if (rows == &step.wanted()) input = step.take_wanted(input);
    }
    const layers::RopeTables& angle =
        config_.layer_types[i] == LayerType::kFull ? tables.full : tables.sliding;
    layers_[i](step, *rows, x, input, angle);
    if (step.tap) step.tap(i + 1, x.states(step));
  }
  Tensor last = x.states(step);
  if (rows == &step.all()) {
    if (step.tap) step.tap(layers_.size() + 1, norm_(step, last));
    last = step.take_wanted(last);
  }
  const Tensor hidden = norm_(step, last);
  step.finish();
  return hidden;
}

Tensor Gemma4Model::logits(layers::Step& step, const Tensor& hidden) const {
  const Tensor z = head_(step, hidden);
  return config_.logit_softcap ? layers::softcap(step, z, *config_.logit_softcap) : z;
}

}  // namespace lanner::models::gemma4
