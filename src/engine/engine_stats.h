// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "cache/prefix_store.h"
#include "engine/draft_depth.h"

namespace lanner::engine {

/// What an engine has done since it started, and what it is doing.
struct EngineStats {
  std::size_t running = 0;            ///< sequences
  std::size_t waiting = 0;            ///< sequences
  std::size_t queued = 0;             ///< requests that have not started
  std::size_t cache_bytes = 0;        ///< set aside for running sequences
  std::size_t cache_total_bytes = 0;  ///< for them and the prefix store
  std::size_t used_bytes = 0;         ///< in blocks of caches and snapshots, each counted once
  std::size_t peak_bytes = 0;         ///< the most of it so far
  std::size_t workspace_bytes = 0;    ///< that steps have taken beside caches, on the host
  cache::PrefixStoreStats prefixes;

  std::uint64_t steps = 0;
  std::uint64_t computed_prompt_tokens = 0;  ///< rows of prompts and replays
  std::uint64_t cached_prompt_tokens = 0;    ///< not computed, being in the prefix store
  std::uint64_t generated_tokens = 0;
  double step_seconds = 0;         ///< in all steps
  double seconds_per_request = 1;  ///< between the ends of requests lately

  std::uint64_t finished_stop = 0;
  std::uint64_t finished_length = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t failed = 0;
  std::uint64_t refused = 0;  ///< requests that found the queue full or the engine draining
  std::uint64_t preemptions = 0;

  std::array<std::uint64_t, DraftDepth::kDeepest> drafted = {};   ///< guesses checked, by place in the draft
  std::array<std::uint64_t, DraftDepth::kDeepest> accepted = {};  ///< guesses that were right
};

}  // namespace lanner::engine
