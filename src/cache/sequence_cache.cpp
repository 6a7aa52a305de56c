// SPDX-License-Identifier: MIT
#include "cache/sequence_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace lanner::cache {

void Draft::commit(std::size_t kept) noexcept {
  if (SequenceCache* cache = std::exchange(cache_, nullptr)) cache->commit_draft(kept);
}

SequenceCache::SequenceCache(const CacheSpec& spec, const BlockPool& pool) {
  for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
    const LayerSpec& kept = spec.layers[layer];
    if (const auto* full = std::get_if<FullSpec>(&kept))
      layers_.emplace_back(KvCache({.kv_heads = full->kv_heads,
                                    .head_dim = full->head_dim,
                                    .type = spec.kv_type_of(layer),
                                    .window = std::nullopt},
                                   pool));
    else if (const auto* sliding = std::get_if<SlidingSpec>(&kept))
      layers_.emplace_back(KvCache({.kv_heads = sliding->kv_heads,
                                    .head_dim = sliding->head_dim,
                                    .type = spec.kv_type_of(layer),
                                    .window = sliding->window},
                                   pool));
    else if (const auto* recurrent = std::get_if<RecurrentSpec>(&kept))
      layers_.emplace_back(RecurrentCache(*recurrent, pool));
    else
      layers_.emplace_back(std::get<SharedSpec>(kept));
  }
}

void SequenceCache::reserve(std::size_t rows) {
  for (LayerCache& layer : layers_) {
    if (auto* kv = std::get_if<KvCache>(&layer)) kv->reserve(length_, length_ + rows);
    if (auto* recurrent = std::get_if<RecurrentCache>(&layer)) recurrent->reserve(rows);
  }
}

void SequenceCache::own_states() {
  for (LayerCache& layer : layers_)
    if (auto* recurrent = std::get_if<RecurrentCache>(&layer)) recurrent->own_state();
}

KvCache& SequenceCache::kv(std::size_t layer) {
  LayerCache& found = layers_.at(layer);
  if (const auto* shared = std::get_if<SharedSpec>(&found))
    return std::get<KvCache>(layers_.at(shared->donor));
  return std::get<KvCache>(found);
}

RecurrentCache& SequenceCache::recurrent(std::size_t layer) {
  return std::get<RecurrentCache>(layers_.at(layer));
}

void SequenceCache::retire() {
  for (LayerCache& layer : layers_)
    if (auto* kv = std::get_if<KvCache>(&layer)) kv->retire(length_);
}

void SequenceCache::advance(std::size_t rows) {
  length_ += rows;
  // Inside a draft the window may still move back.
  if (!draft_start_) retire();
}

std::optional<Draft> SequenceCache::begin_draft(std::size_t max_tokens) {
  if (max_tokens > kMaxDraft || draft_start_) return std::nullopt;
  try {
    for (LayerCache& layer : layers_) {
      if (auto* kv = std::get_if<KvCache>(&layer)) kv->reserve(length_, length_ + max_tokens);
      if (auto* recurrent = std::get_if<RecurrentCache>(&layer)) recurrent->reserve_draft(max_tokens);
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kOutOfMemory) throw;
    return std::nullopt;
  }
  for (LayerCache& layer : layers_)
    if (auto* recurrent = std::get_if<RecurrentCache>(&layer)) recurrent->begin_draft();
  draft_start_ = length_;
  return Draft(this);
}

void SequenceCache::commit_draft(std::size_t kept) noexcept {
  const std::size_t appended = length_ - *draft_start_;
  kept = std::min(kept, appended);
  for (LayerCache& layer : layers_)
    if (auto* recurrent = std::get_if<RecurrentCache>(&layer)) recurrent->commit_draft(kept);
  length_ = *draft_start_ + kept;
  draft_start_.reset();
  retire();
}

bool SequenceCache::can_truncate(std::size_t length) const {
  if (length == 0 || length > length_) return false;
  return std::ranges::all_of(layers_, [&](const LayerCache& layer) {
    if (const auto* kv = std::get_if<KvCache>(&layer)) return kv->can_truncate(length);
    return std::holds_alternative<SharedSpec>(layer) || length == length_;
  });
}

SequenceCache SequenceCache::fork_at(std::size_t length) const {
  if (draft_start_) throw Error(ErrorKind::kInternal, "a sequence was forked while its draft is open");
  if (length != length_ && !can_truncate(length))
    throw Error(ErrorKind::kInternal,
                fmt::format("a sequence of {} positions cannot be cut to {}", length_, length));
  std::vector<LayerCache> layers;
  for (const LayerCache& layer : layers_) {
    if (const auto* kv = std::get_if<KvCache>(&layer))
      layers.emplace_back(kv->fork(length));
    else if (const auto* recurrent = std::get_if<RecurrentCache>(&layer))
      layers.emplace_back(recurrent->fork());
    else
      layers.push_back(layer);
  }
  return SequenceCache(std::move(layers), length);
}

std::vector<SavedLayer> SequenceCache::saved() const {
  const SequenceCache whole = fork();
  std::vector<SavedLayer> layers;
  for (const LayerCache& layer : whole.layers_) {
    layers.emplace_back();
    if (const auto* kv = std::get_if<KvCache>(&layer)) layers.back() = kv->saved();
    if (const auto* recurrent = std::get_if<RecurrentCache>(&layer)) layers.back() = recurrent->saved();
  }
  return layers;
}

SequenceCache SequenceCache::restored(const CacheSpec& spec, const BlockPool& pool, std::size_t length,
                                      std::vector<SavedLayer> layers) {
  SequenceCache cache(spec, pool);
  if (layers.size() != spec.layers.size())
    throw Error(ErrorKind::kCorrupt,
                fmt::format("the snapshot has {} layers, the model {}", layers.size(), spec.layers.size()));
  for (std::size_t index = 0; index < layers.size(); ++index) {
    SavedLayer& layer = layers[index];
    const bool fits = entries_fit(spec.layers[index], length, layer.entries) &&
                      std::ranges::equal(layer.blocks, saved_block_bytes(spec, index, length, layer.entries),
                                         {}, [](const BlockRef& block) { return block->size_bytes(); });
    if (!fits)
      throw Error(
          ErrorKind::kCorrupt,
          fmt::format("layer {} of the snapshot has {} blocks and {} entries, which is not what the model "
                      "keeps after {} positions",
                      index, layer.blocks.size(), layer.entries, length));
    if (auto* kv = std::get_if<KvCache>(&cache.layers_[index])) kv->restore(length, std::move(layer.blocks));
    if (auto* recurrent = std::get_if<RecurrentCache>(&cache.layers_[index]))
      recurrent->restore(std::move(layer));
  }
  cache.length_ = length;
  return cache;
}

void SequenceCache::visit_blocks(const BlockVisitor& visit) const {
  for (const LayerCache& layer : layers_) {
    if (const auto* kv = std::get_if<KvCache>(&layer)) kv->visit_blocks(visit);
    if (const auto* recurrent = std::get_if<RecurrentCache>(&layer)) recurrent->visit_blocks(visit);
  }
}

std::size_t SequenceCache::size_bytes() const {
  std::size_t total = 0;
  visit_blocks([&](const BlockRef& block, CacheKind) { total += block->size_bytes(); });
  return total;
}

}  // namespace lanner::cache
