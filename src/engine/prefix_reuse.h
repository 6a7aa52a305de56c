// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

#include "cache/prefix_store.h"
#include "engine/engine_options.h"
#include "engine/loaded_model.h"
#include "engine/sequence.h"
#include "engine/state_file.h"

namespace lanner::engine {

/// What sequences take from the prefix store and leave in it. A hit gives the bits that computing would have
/// given.
class PrefixReuse {
 public:
  PrefixReuse(const LoadedModel& model, const EngineOptions& options, std::size_t capacity_bytes);

  /// Caches for the longest known beginning of the sequence's tokens; std::nullopt when there is none or the
  /// request does not want it.
  std::optional<cache::SequenceCache> find(Sequence& sequence);
  /// Where a piece of the prompt that begins at `begin` must end at the latest, for a checkpoint.
  std::size_t next_checkpoint(const Sequence& sequence, std::size_t begin) const;
  /// Stores the caches as they stand when a checkpoint is due here.
  void after_step(const Sequence& sequence);
  /// Stores the caches of a sequence that ended.
  void at_end(const Sequence& sequence);

  /// The caches of a sequence as they stand.
  StateImage image(const Sequence& sequence) const;
  /// Stores a state file's snapshot, made with these adapters, as lasting as a system prompt; → its tokens.
  /// Throws as parse_state(), and Error kOutOfMemory when the store does not hold it.
  std::size_t restore(std::span<const std::byte> file, std::string_view source, const cache::BlockPool& pool,
                      const AdapterSet* adapters);
  /// Writes the longest snapshot of a beginning of `ids` with these adapters; → its tokens, 0 when there is
  /// none.
  std::size_t save(const std::filesystem::path& file, std::span<const TokenId> ids,
                   const AdapterSet* adapters);
  /// Drops everything that was computed with an adapter of this content.
  void forget_adapter(const std::string& content_hash);

  bool evict_one() { return store_.evict_one(); }
  std::size_t size_bytes() const { return store_.size_bytes(); }
  cache::PrefixStoreStats stats() const { return store_.stats(); }

 private:
  /// The class of the checkpoint that is due when `sequence` has `length` tokens computed.
  std::optional<cache::CheckpointClass> due(const Sequence& sequence, std::size_t length) const;
  void insert(const Sequence& sequence, cache::CheckpointClass kind);
  cache::PrefixKey key_of(const AdapterSet* adapters) const;

  const LoadedModel& model_;
  cache::PrefixKey key_;  ///< without adapters
  std::size_t interval_;
  cache::PrefixStore store_;
};

}  // namespace lanner::engine
