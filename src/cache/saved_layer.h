// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "cache/block_pool.h"
#include "cache/layer_spec.h"

namespace lanner::cache {

/// What one layer of a snapshot consists of. The bytes of a block depend on the layer's spec and on how it
/// stores keys and values; a layer that shares another's cache has none.
struct SavedLayer {
  std::size_t entries = 0;  ///< rows of a recurrent layer's open chunk
  std::vector<BlockRef> blocks;
  std::vector<std::size_t> content_bytes;  ///< of each block; the rest of a block is of no meaning
};

/// Sizes of the blocks of layer `layer` of a snapshot of `length` positions with `entries` open rows.
/// entries_fit() must hold.
std::vector<std::size_t> saved_block_bytes(const CacheSpec& spec, std::size_t layer, std::size_t length,
                                           std::size_t entries);

/// True when a layer of a snapshot can have `entries` open rows after `length` positions: a recurrent layer
/// length modulo 64, or 64 where that is 0; others none.
bool entries_fit(const LayerSpec& layer, std::size_t length, std::size_t entries);

}  // namespace lanner::cache
