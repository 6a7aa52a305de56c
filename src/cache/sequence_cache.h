// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <variant>
#include <vector>

#include "cache/block_pool.h"
#include "cache/kv_cache.h"
#include "cache/layer_spec.h"
#include "cache/recurrent_cache.h"
#include "cache/saved_layer.h"

namespace lanner::cache {

class SequenceCache;

/// Move-only. Positions appended between begin_draft() and commit() are provisional in every layer.
class [[nodiscard]] Draft {
 public:
  Draft(Draft&& other) noexcept : cache_(std::exchange(other.cache_, nullptr)) {}
  Draft& operator=(Draft&&) = delete;
  ~Draft() { commit(0); }  ///< no commit = every appended position is undone
  /// Keeps the first `kept` appended positions; only the first call counts.
  void commit(std::size_t kept) noexcept;

 private:
  friend class SequenceCache;
  explicit Draft(SequenceCache* cache) : cache_(cache) {}
  SequenceCache* cache_;
};

/// Everything one sequence remembers, for all layers of a model. A forward asks for room, lets each layer
/// append its rows at length(), and ends with advance(). Move it only while no Draft is open. A fork shares
/// its memory until one of the two writes, so a snapshot is a fork that nobody continues.
class SequenceCache {
 public:
  /// The longest draft; a draft crosses at most one chunk boundary of the recurrent layers.
  static constexpr std::size_t kMaxDraft = 64;

  /// Throws Error kOutOfMemory when the pool cannot hold the recurrent layers' state.
  explicit SequenceCache(const CacheSpec& spec, const BlockPool& pool = BlockPool());
  SequenceCache(SequenceCache&&) noexcept = default;
  SequenceCache& operator=(SequenceCache&&) noexcept = default;

  /// Committed positions, plus provisional ones while a draft is open.
  std::size_t length() const { return length_; }
  /// Room for `rows` more positions in every layer. Throws Error kOutOfMemory; the cache stays valid then.
  void reserve(std::size_t rows);
  /// The keys and values layer `layer` reads: its own, or its donor's.
  KvCache& kv(std::size_t layer);
  RecurrentCache& recurrent(std::size_t layer);
  /// Ends a forward that appended `rows` positions in every layer.
  void advance(std::size_t rows);
  /// std::nullopt when max_tokens > kMaxDraft, a draft is open, or memory is short (an expected outcome).
  std::optional<Draft> begin_draft(std::size_t max_tokens);

  /// Makes the states of recurrent layers its own, as a fork that goes on beside others will have to at the
  /// end of a chunk. Throws Error kOutOfMemory; the cache stays valid then.
  void own_states();
  /// A sequence with the same positions, in the same memory. Throws Error kInternal while a draft is open.
  SequenceCache fork() const { return fork_at(length_); }
  /// True when every layer can go on from `length` <= length(): a sliding layer while its window is still
  /// there, a recurrent layer only where it stands. Length 0 never counts: that is a new sequence.
  bool can_truncate(std::size_t length) const;
  /// A sequence of the first `length` positions, in the same memory. Throws Error kInternal unless
  /// can_truncate(length), and while a draft is open.
  SequenceCache fork_at(std::size_t length) const;
  /// Its content, layer by layer, in blocks that it goes on holding. Throws Error kInternal while a draft is
  /// open.
  std::vector<SavedLayer> saved() const;
  /// A sequence with the content that saved() gave, of `length` positions. Throws Error kCorrupt naming the
  /// layer when blocks or entries are not what the spec asks for (saved_block_bytes); kOutOfMemory.
  static SequenceCache restored(const CacheSpec& spec, const BlockPool& pool, std::size_t length,
                                std::vector<SavedLayer> layers);
  void visit_blocks(const BlockVisitor& visit) const;
  /// Bytes of every block it holds, shared ones included.
  std::size_t size_bytes() const;

 private:
  friend class Draft;
  void commit_draft(std::size_t kept) noexcept;
  void retire();

  using LayerCache = std::variant<KvCache, RecurrentCache, SharedSpec>;
  explicit SequenceCache(std::vector<LayerCache> layers, std::size_t length)
      : layers_(std::move(layers)), length_(length) {}
  std::vector<LayerCache> layers_;
  std::size_t length_ = 0;
  std::optional<std::size_t> draft_start_;
};

}  // namespace lanner::cache
