// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "cache/prefix_store.h"
#include "core/bucket_counts.h"
#include "engine/draft_depth.h"
#include "engine/sequence_memory.h"

namespace lanner::engine {

/// What a forward computes: tokens that follow, a prompt's, both, or tokens that follow and guesses.
enum class StepKind : std::uint8_t { kDecode, kPrompt, kMixed, kVerify };
inline constexpr std::size_t kStepKinds = 4;

inline constexpr std::array kStepSecondsBounds = {.001, .0025, .005, .01, .025, .05, .075, .1,
                                                  .15,  .2,    .3,   .4,  .5,   .75, 1.0,  2.5};
inline constexpr std::array kStepRowsBounds = {1.0,   2.0,   5.0, 10.0, 20.0, 50.0, 100.0,
                                               200.0, 500.0, 1e3, 2e3,  5e3,  1e4};
inline constexpr std::array kMaskSecondsBounds = {1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4,
                                                  5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, .1};

/// What an engine has done since it started, and what it is doing.
struct EngineStats {
  std::size_t running = 0;            ///< sequences
  std::size_t waiting = 0;            ///< sequences
  std::size_t preempted = 0;          ///< of those waiting: lost their caches
  std::size_t queued = 0;             ///< requests that have not started
  cache::CacheBytes reserved;         ///< set aside for running sequences
  std::size_t cache_bytes = 0;        ///< all of it
  std::size_t cache_total_bytes = 0;  ///< for them and the prefix store
  std::size_t used_bytes = 0;         ///< in blocks of caches and snapshots, each counted once
  std::size_t peak_bytes = 0;         ///< the most of it so far
  std::size_t workspace_bytes = 0;    ///< that steps have taken beside caches, on the host
  std::size_t adapter_bytes = 0;      ///< that mounted adapters take
  cache::PrefixStoreStats prefixes;

  std::uint64_t steps = 0;
  std::uint64_t computed_prompt_tokens = 0;  ///< rows of prompts and replays
  std::uint64_t cached_prompt_tokens = 0;    ///< not computed, being in the prefix store
  std::uint64_t generated_tokens = 0;
  double step_seconds = 0;  ///< in all steps
  std::array<BucketCounts, kStepKinds> step_times = {
      BucketCounts(kStepSecondsBounds), BucketCounts(kStepSecondsBounds), BucketCounts(kStepSecondsBounds),
      BucketCounts(kStepSecondsBounds)};        ///< seconds of a step, by StepKind
  BucketCounts step_rows{kStepRowsBounds};      ///< tokens of a step
  BucketCounts mask_times{kMaskSecondsBounds};  ///< seconds to find what a grammar allows
  std::uint64_t put_off = 0;                    ///< decisions that waited for it beyond their step
  double seconds_per_request = 1;               ///< between the ends of requests lately

  std::uint64_t finished_stop = 0;
  std::uint64_t finished_length = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t failed = 0;
  std::uint64_t refused = 0;  ///< requests that found the queue full or the engine draining
  std::uint64_t preemptions = 0;

  bool recovering = false;          ///< the device was lost, and the model is being loaded again
  std::string recovery_reason;      ///< how it was lost, or why loading failed last
  std::uint64_t device_losses = 0;  ///< after which it was

  std::array<std::uint64_t, DraftDepth::kDeepest> drafted = {};   ///< guesses checked, by place in the draft
  std::array<std::uint64_t, DraftDepth::kDeepest> accepted = {};  ///< guesses that were right
};

}  // namespace lanner::engine
