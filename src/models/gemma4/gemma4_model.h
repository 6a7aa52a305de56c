// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "layers/embedding.h"
#include "models/gemma4/gemma4_config.h"
#include "models/gemma4/gemma4_layer.h"
#include "models/model.h"

namespace lanner::models::gemma4 {

/// What every layer of an E-type model gets from the token itself: a table of [P] per layer, mixed with a
/// projection of the input embedding. Source: Gemma4TextModel.project_per_layer_inputs, transformers 5.17.
struct PerLayerEmbedding {
  layers::Embedding table;  ///< [V, layers*P], scaled by sqrt(P)
  Linear projection;        ///< [layers*P, H]
  float projection_scale = 1;
  RmsNorm norm;  ///< over P, shared by all layers
  std::size_t layers = 0;

  /// ids and x [rows, H], the scaled embedding → [layers, rows, P]
  Tensor operator()(Step& step, std::span<const TokenId> ids, const Tensor& x) const;
};

/// Gemma 4 language model: E2B, E4B, 12B unified, 26B-A4B and 31B are all this class.
class Gemma4Model final : public Model {
 public:
  Gemma4Model(const io::Checkpoint& checkpoint, const LoadTarget& target);

  Tensor forward(layers::Step& step) const override;
  Tensor logits(layers::Step& step, const Tensor& hidden) const override;
  const ModelFacts& facts() const override { return facts_; }
  const std::vector<cache::LayerSpec>& cache_layers() const override { return cache_layers_; }

 private:
  /// Angles of both layer types for a set of rows.
  struct Angles {
    layers::RopeTables sliding;
    layers::RopeTables full;
  };

  void load_embeddings(WeightLoader& loader);
  void load_layer(WeightLoader& loader, std::size_t index);
  void build_ropes();
  void describe(WeightLoader& loader, const io::Checkpoint& checkpoint);
  /// Media placeholders read the padding row of the per-layer table.
  std::vector<TokenId> without_media(std::span<const TokenId> ids) const;
  Angles angles(Step& step, const Packing& rows) const;

  Config config_;
  WeightStorage storage_;
  layers::Embedding embed_tokens_;
  std::optional<PerLayerEmbedding> per_layer_embedding_;
  std::unique_ptr<layers::Rope> sliding_rope_;
  std::unique_ptr<layers::Rope> full_rope_;
  std::vector<DecoderLayer> layers_;
  RmsNorm norm_;
  Linear head_;
  ModelFacts facts_;
  std::vector<cache::LayerSpec> cache_layers_;
};

}  // namespace lanner::models::gemma4
