// SPDX-License-Identifier: MIT
#include "models/qwen3_5/qwen3_5_model.h"

namespace lanner::models::qwen3_5 {

Tensor Qwen35Model::forward(layers::Step& step) const {
  const Tensor x = embed_tokens_(step, step.ids());
  if (step.tap) step.tap(0, x);
  const layers::RopeTables tables = rope_->tables(step, step.all());
  for (const DecoderLayer& layer : layers_) {
    const ArenaScope scope(step.arena);
    layer(step, x, tables);
    if (step.tap) step.tap(layer.index + 1, x);
  }
  if (step.tap) step.tap(layers_.size() + 1, norm_(step, x));
  const Tensor hidden = norm_(step, step.take_wanted(x));
  step.finish();
  return hidden;
}

Tensor Qwen35Model::logits(layers::Step& step, const Tensor& hidden) const { return head_(step, hidden); }

}  // namespace lanner::models::qwen3_5
