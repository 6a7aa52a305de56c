// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>

#include "engine/sequence_memory.h"

namespace lanner::engine {

/// What is promised to running sequences of the memory set aside for what they keep between steps. Changed by
/// the engine's thread alone; others may ask what fits.
class CacheBudget {
 public:
  CacheBudget(const SequenceMemory& memory, std::size_t total_bytes)
      : memory_(memory), total_bytes_(total_bytes) {}

  /// Bytes of one sequence's caches, at most.
  std::size_t needed_bytes(const SequenceSize& size) const { return memory_.bytes(size); }
  /// The longest sequence that fits in all of the memory; at most `tokens`.
  std::size_t longest_fitting(std::size_t tokens) const {
    return memory_.longest_fitting(tokens, total_bytes_);
  }
  std::size_t total_bytes() const { return total_bytes_; }
  /// Other uses of the memory have come or gone.
  void set_total_bytes(std::size_t bytes) { total_bytes_ = bytes; }
  const cache::CacheBytes& reserved() const { return reserved_; }
  std::size_t reserved_bytes() const { return reserved_.total(); }

  /// Changes a sequence's reservation from `before` to `after`. False, and no change, when the memory does
  /// not hold it beside `other_bytes`.
  bool reserve(const SequenceSize& before, const SequenceSize& after, std::size_t other_bytes);
  /// Whether reserve() could succeed with nothing beside.
  bool could_reserve(const SequenceSize& before, const SequenceSize& after) const {
    return reserved_bytes() - needed_bytes(before) + needed_bytes(after) <= total_bytes_;
  }
  void release(const SequenceSize& size) { reserved_ = reserved_ - memory_.parts(size); }

 private:
  SequenceMemory memory_;
  std::atomic<std::size_t> total_bytes_;
  cache::CacheBytes reserved_;
};

}  // namespace lanner::engine
