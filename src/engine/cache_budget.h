// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "cache/sequence_cache.h"

namespace lanner::engine {

/// Bytes that the caches of sequences take, and what is left of the memory set aside for them.
class CacheBudget {
 public:
  /// step_rows: the most rows one forward appends to a sequence.
  CacheBudget(const cache::CacheSpec& spec, std::size_t step_rows, std::size_t total_bytes);

  /// Bytes of one sequence's caches when it has `tokens` tokens, at most.
  std::size_t needed_bytes(std::size_t tokens) const;
  /// The longest sequence that fits in all of the memory; at most `tokens`.
  std::size_t longest_fitting(std::size_t tokens) const;
  std::size_t total_bytes() const { return total_bytes_; }
  std::size_t reserved_bytes() const { return reserved_bytes_; }

  /// Changes a sequence's reservation from `before` to `after` tokens (0 = none). False, and no change, when
  /// the memory does not hold it beside `other_bytes`.
  bool reserve(std::size_t before, std::size_t after, std::size_t other_bytes);
  /// Whether reserve() could succeed with nothing beside.
  bool could_reserve(std::size_t before, std::size_t after) const {
    return reserved_bytes_ - needed_bytes(before) + needed_bytes(after) <= total_bytes_;
  }
  void release(std::size_t tokens);

 private:
  cache::CacheSpec spec_;
  std::size_t step_rows_;
  std::size_t total_bytes_;
  std::size_t reserved_bytes_ = 0;
};

/// Memory that caches may take on this machine: most of what is available now, less what the control group
/// denies.
std::size_t default_cache_bytes();

}  // namespace lanner::engine
