// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <variant>
#include <vector>

#include "device/ops.h"

namespace lanner::cache {

/// Keys and values of every position; attention reads them all.
struct FullSpec {
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;
};

/// Keys and values of the last `window` positions; a query attends itself and the window - 1 before it.
struct SlidingSpec {
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;
  std::size_t window = 0;
};

/// Stores nothing: reads the cache of layer `donor`, which is never itself shared.
struct SharedSpec {
  std::size_t donor = 0;
};

/// State of a gated delta net layer: the last taps - 1 inputs of its convolution and the delta state.
struct RecurrentSpec {
  std::size_t taps = 0;
  std::size_t key_heads = 0;
  std::size_t value_heads = 0;
  std::size_t key_dim = 0;
  std::size_t value_dim = 0;
  std::size_t chunk = device::kMostDeltaChunk;  ///< Ops::delta_chunk of the device

  /// q, k and v channels of one row.
  std::size_t conv_channels() const { return 2 * key_heads * key_dim + value_heads * value_dim; }
};

/// What one layer keeps for a sequence.
using LayerSpec = std::variant<FullSpec, SlidingSpec, SharedSpec, RecurrentSpec>;

/// What a model's layers keep, in layer order, and how they store keys and values.
struct CacheSpec {
  std::vector<LayerSpec> layers;
  device::KvType kv_type = device::KvType::kBF16;
  std::map<std::size_t, device::KvType> layer_kv_types = {};  ///< layers that differ from kv_type

  device::KvType kv_type_of(std::size_t layer) const {
    const auto found = layer_kv_types.find(layer);
    return found == layer_kv_types.end() ? kv_type : found->second;
  }
};

}  // namespace lanner::cache
