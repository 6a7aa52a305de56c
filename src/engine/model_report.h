// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "models/model.h"

namespace lanner::engine {

/// Weights of one kind stored in one format.
struct WeightGroup {
  std::string name;    ///< "embeddings", "attention", "mlp", "experts", "delta net", "head", "norms", ...
  std::string format;  ///< "bf16", "affine 4-bit group 64", "mxfp4"
  std::size_t tensors = 0;
  std::size_t parameters = 0;
  std::size_t size_bytes = 0;
};

/// Layers by what they keep for a sequence.
struct LayerKinds {
  std::size_t full = 0;
  std::size_t sliding = 0;
  std::size_t recurrent = 0;
  std::size_t shared_full = 0;     ///< read the cache of a full layer
  std::size_t shared_sliding = 0;  ///< read the cache of a sliding layer
  std::size_t window = 0;          ///< of sliding layers

  std::size_t all() const { return full + sliding + recurrent + shared_full + shared_sliding; }
};

/// Memory one sequence takes.
struct SequenceBytes {
  std::size_t per_token = 0;          ///< keys and values of full layers
  std::size_t sliding_per_token = 0;  ///< keys and values of sliding layers, up to the window
  std::size_t fixed = 0;              ///< states of recurrent layers
};

/// The kind of a weight by its path in the text model.
std::string_view weight_group_name(std::string_view path);
std::string format_name(const device::WeightSpec& spec);
/// In the order of a forward pass; groups that mix formats appear once per format.
std::vector<WeightGroup> weight_groups(const models::ModelFacts& facts);
LayerKinds layer_kinds(const std::vector<cache::LayerSpec>& layers);
/// element_bytes: of one cached key or value element.
SequenceBytes sequence_bytes(const std::vector<cache::LayerSpec>& layers, std::size_t element_bytes);

}  // namespace lanner::engine
