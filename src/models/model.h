// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cache/layer_spec.h"
#include "core/tensor.h"
#include "layers/step.h"
#include "models/weight_loader.h"

namespace lanner::models {

/// What is known of a loaded model without running it.
struct ModelFacts {
  std::string family;      ///< "Gemma 4", "Qwen 3.5"
  std::string model_type;  ///< as config.json says
  std::size_t hidden_size = 0;
  std::size_t vocabulary = 0;  ///< rows of the embedding table
  std::size_t context = 0;     ///< max_position_embeddings
  bool tied_head = false;
  std::size_t experts = 0;  ///< routed experts of a layer; 0 = dense
  std::size_t experts_per_token = 0;
  std::vector<std::string>
      unused_parts;                  ///< parts of the checkpoint this build does not run ("vision tower")
  std::vector<ModuleFacts> modules;  ///< every weight the model reads
  std::vector<layers::LinearTarget> targets;  ///< linears that adapters may change
  WeightMemory weights;
};

/// A language model with bound kernels. Immutable after load: any number of sequences may use it.
class Model {
 public:
  virtual ~Model() = default;

  /// Runs the step's rows through all layers and appends them to every group's cache. → the final norm's
  /// output of the wanted rows, [wanted, H], in the step's arena. Throws Error kInvalidArgument for ids
  /// outside the table.
  virtual Tensor forward(layers::Step& step) const = 0;
  /// hidden [rows, H] → logits [rows, V], softcap included.
  virtual Tensor logits(layers::Step& step, const Tensor& hidden) const = 0;

  virtual const ModelFacts& facts() const = 0;
  /// What each layer keeps for a sequence.
  virtual const std::vector<cache::LayerSpec>& cache_layers() const = 0;
};

}  // namespace lanner::models
