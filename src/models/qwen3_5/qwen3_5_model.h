// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "layers/embedding.h"
#include "models/model.h"
#include "models/qwen3_5/qwen3_5_config.h"
#include "models/qwen3_5/qwen3_5_layer.h"

namespace lanner::models::qwen3_5 {

/// How a file stores the norm gains and the convolution: as Hugging Face does (gain - 1, [C, 1, K]) or as MLX
/// does (gain, [C, K, 1]). The convolution's layout is the only reliable sign; both travel together.
enum class Convention : std::uint8_t { kHuggingFace, kMlx };

/// Qwen 3.5 and 3.6 language model, dense or mixture of experts.
class Qwen35Model final : public Model {
 public:
  Qwen35Model(const io::Checkpoint& checkpoint, const LoadTarget& target);

  Tensor forward(layers::Step& step) const override;
  Tensor logits(layers::Step& step, const Tensor& hidden) const override;
  const ModelFacts& facts() const override { return facts_; }
  const std::vector<cache::LayerSpec>& cache_layers() const override { return cache_layers_; }

 private:
  void load_layer(WeightLoader& loader, Convention convention, std::size_t index);
  void load_embeddings(WeightLoader& loader, Convention convention);
  void describe(WeightLoader& loader, const io::Checkpoint& checkpoint);

  Config config_;
  WeightStorage storage_;
  layers::Embedding embed_tokens_;
  std::unique_ptr<layers::Rope> rope_;
  std::vector<DecoderLayer> layers_;
  RmsNorm norm_;
  Linear head_;
  ModelFacts facts_;
  std::vector<cache::LayerSpec> cache_layers_;
};

}  // namespace lanner::models::qwen3_5
