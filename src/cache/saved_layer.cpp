// SPDX-License-Identifier: MIT
#include "cache/saved_layer.h"

#include "cache/kv_cache.h"
#include "cache/recurrent_cache.h"

namespace lanner::cache {
namespace {

struct Heads {
  std::size_t kv_heads;
  std::size_t head_dim;
};

std::vector<std::size_t> kv_blocks(device::KvType type, Heads heads, std::size_t first_position,
                                   std::size_t length) {
  const std::size_t end = (length + device::kKvBlock - 1) / device::kKvBlock;
  return std::vector<std::size_t>(end - first_position / device::kKvBlock,
                                  kv_block_bytes(type, heads.kv_heads, heads.head_dim));
}

}  // namespace

std::vector<std::size_t> saved_block_bytes(const CacheSpec& spec, std::size_t layer, std::size_t length,
                                           std::size_t entries) {
  const LayerSpec& kept = spec.layers[layer];
  const device::KvType type = spec.kv_type_of(layer);
  if (const auto* full = std::get_if<FullSpec>(&kept))
    return kv_blocks(type, {full->kv_heads, full->head_dim}, 0, length);
  if (const auto* sliding = std::get_if<SlidingSpec>(&kept)) {
    const std::size_t first = length + 1 <= sliding->window ? 0 : length + 1 - sliding->window;
    return kv_blocks(type, {sliding->kv_heads, sliding->head_dim}, first, length);
  }
  if (const auto* recurrent = std::get_if<RecurrentSpec>(&kept)) {
    const RecurrentSizes sizes = recurrent_sizes(*recurrent);
    if (entries == 0) return {sizes.state_bytes, sizes.conv_bytes};
    return {sizes.state_bytes, sizes.conv_bytes, sizes.entry_bytes};
  }
  return {};
}

bool entries_fit(const LayerSpec& layer, std::size_t length, std::size_t entries) {
  const auto* recurrent = std::get_if<RecurrentSpec>(&layer);
  if (recurrent == nullptr) return entries == 0;
  const std::size_t open = length % recurrent->chunk;
  return entries == open || (length > 0 && open == 0 && entries == recurrent->chunk);
}

}  // namespace lanner::cache
