// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "cache/cache_bytes.h"
#include "cache/layer_spec.h"
#include "cache/recurrent_cache.h"

namespace lanner::engine {

/// What a sequence is to hold.
struct SequenceSize {
  std::size_t tokens = 0;      ///< 0 = no caches at all
  std::size_t draft_rows = 0;  ///< the longest draft, decided tokens included; 0 = none is ever opened

  bool operator==(const SequenceSize&) const = default;
};

/// Bytes that the caches of one sequence take, from the shapes of the layers alone: whole blocks of 64
/// positions, as BlockPool counts them.
class SequenceMemory {
 public:
  explicit SequenceMemory(const cache::CacheSpec& spec);

  /// Between two steps, at most. While a step runs, sliding layers also hold the step's rows: step_bytes().
  cache::CacheBytes parts(const SequenceSize& size) const;
  std::size_t bytes(const SequenceSize& size) const { return parts(size).total(); }
  /// The longest sequence that takes no more than `budget` bytes; at most `tokens`.
  std::size_t longest_fitting(std::size_t tokens, std::size_t budget) const;
  /// What sliding layers hold beyond bytes() while a step of `rows` rows of `sequences` sequences runs, at
  /// most: a sequence's rows may begin anywhere in a block.
  std::size_t step_bytes(std::size_t rows, std::size_t sequences) const;

  double full_bytes_per_token() const;     ///< keys and values of full layers
  double sliding_bytes_per_token() const;  ///< of sliding layers, for tokens inside the window
  std::size_t window() const;              ///< the longest of sliding layers; 0 = there are none
  std::size_t state_bytes() const { return slot_bytes_ + conv_bytes_; }  ///< of recurrent layers
  /// A snapshot in the prefix store, beside the blocks of full layers that it shares with its sequence.
  std::size_t checkpoint_bytes() const;

 private:
  struct Window {
    std::size_t positions = 0;
    std::size_t block_bytes = 0;

    /// Blocks that a window can lie across.
    std::size_t most_blocks() const;
  };

  std::size_t full_block_bytes_ = 0;
  std::vector<Window> windows_;
  std::size_t slot_bytes_ = 0;                   ///< state and open chunk
  std::size_t chunk_ = device::kMostDeltaChunk;  ///< of recurrent layers
  std::size_t conv_bytes_ = 0;
  std::size_t conv_row_bytes_ = 0;      ///< of a draft's rows
  cache::RecurrentSizes largest_conv_;  ///< of the layer whose convolution takes most
};

}  // namespace lanner::engine
