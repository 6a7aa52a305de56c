// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "cache/prefix_tree.h"

namespace lanner::cache {

/// What must be equal beside the tokens for a snapshot to be of use: model, how keys and values are stored,
/// adapters. Compared as a whole, never only by hash.
struct PrefixKey {
  std::string model;     ///< fingerprint of the checkpoint
  std::string kv_types;  ///< how each layer stores keys and values
  std::string adapters;  ///< the ordered set of adapters and their scales; empty = none

  auto operator<=>(const PrefixKey&) const = default;
};

/// What a lookup found.
struct PrefixLookup {
  std::size_t length = 0;              ///< positions of `cache`; 0 = nothing of use
  std::optional<SequenceCache> cache;  ///< a fork that the caller may continue
  /// The store knows the prompt well beyond `length` but holds no snapshot there: a checkpoint of class
  /// kBranch after this many tokens lets the next such prompt hit. A multiple of 64.
  std::optional<std::size_t> branch_point;
};

/// Counters since the store was made, and what it holds now.
struct PrefixStoreStats {
  std::uint64_t lookups = 0;
  std::uint64_t hits = 0;
  std::uint64_t reused_tokens = 0;
  std::uint64_t evictions = 0;
  std::array<std::uint64_t, kCheckpointClasses> evicted = {};  ///< the same, by CheckpointClass
  std::array<std::uint64_t, kCheckpointClasses> stored = {};   ///< checkpoints so far, by CheckpointClass
  std::size_t checkpoints = 0;
  CacheBytes bytes;  ///< of every block held, each counted once
};

/// Snapshots of sequences in radix trees over token ids, so that a prompt that begins like an earlier one
/// only computes what is new. Works for every kind of layer: a snapshot is used at its own length, or cut
/// where all of its layers allow it. Bounded in bytes; when they are short, checkpoints go in the order of
/// their class (CheckpointClass), the least recently used of a class first; as many uses as there are
/// checkpoints, at least kLeastAgePerClass, make up for one class, so that what nobody asks for any more
/// leaves room for those who talk now. A hit leaves its snapshot in place. Used from one thread at a time.
class PrefixStore {
 public:
  /// Checkpoints on one path from the root; the first to be given up goes when there would be more.
  static constexpr std::size_t kMaxPerBranch = 32;
  /// Known tokens without a snapshot that make a branch point worth a checkpoint.
  static constexpr std::size_t kBranchGap = 256;
  static constexpr std::size_t kLeastAgePerClass = 64;

  /// capacity_bytes 0 keeps nothing.
  explicit PrefixStore(std::size_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}

  /// The longest usable beginning of ids, of at most `at_most` tokens (ids.size() - 1 to have logits).
  PrefixLookup find(const PrefixKey& key, std::span<const TokenId> ids, std::size_t at_most);
  /// Stores a snapshot of `sequence` as it stands, after ids: its length is ids.size() > 0 and no draft is
  /// open. One that alone exceeds the capacity is not stored. Where there is one already, it stays and takes
  /// the more lasting of both classes.
  void insert(const PrefixKey& key, std::span<const TokenId> ids, const SequenceCache& sequence,
              CheckpointClass kind);
  /// Drops the checkpoint that is next in order; false when there is none. Frees what no other sequence
  /// holds.
  bool evict_one();
  /// Drops everything stored under key, or under every key that `matches` picks.
  void forget(const PrefixKey& key);
  void forget_where(const std::function<bool(const PrefixKey&)>& matches);
  void clear();

  std::size_t capacity_bytes() const { return capacity_bytes_; }
  std::size_t size_bytes() const { return bytes_.total(); }
  PrefixStoreStats stats() const;

 private:
  struct Place {
    PrefixTree* tree;
    PrefixNode* node;
  };
  using Uses = std::map<std::uint64_t, Place>;  ///< by last_used

  std::size_t checkpoints() const;
  std::uint64_t rank(std::uint64_t last_used, CheckpointClass kind) const;
  Uses& uses(CheckpointClass kind) { return uses_[static_cast<std::size_t>(kind)]; }
  void touch(PrefixTree& tree, PrefixNode& node, CheckpointClass kind);
  void hold(const SequenceCache& cache);
  void release(const SequenceCache& cache);
  void drop(const Place& victim);
  void limit_branch(const PrefixNode& newest);
  void remove_tree(std::map<PrefixKey, PrefixTree>::iterator tree);

  std::size_t capacity_bytes_;
  std::map<PrefixKey, PrefixTree> trees_;
  std::array<Uses, kCheckpointClasses> uses_;
  std::unordered_map<const Block*, std::size_t> holders_;
  CacheBytes bytes_;  ///< of the blocks in holders_
  std::uint64_t clock_ = 0;
  PrefixStoreStats counters_;
};

}  // namespace lanner::cache
