// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/loaded_model.h"

namespace lanner::test {

struct SoakOptions {
  std::uint64_t seed = 1;
  std::chrono::milliseconds duration{5000};
  std::size_t most_requests = SIZE_MAX;
  int threads = 2;
};

/// What a soak did, and what went wrong.
struct SoakReport {
  std::size_t requests = 0;
  std::size_t finished = 0;
  std::size_t cancelled = 0;
  std::size_t constrained = 0;  ///< by a grammar
  std::uint64_t preemptions = 0;
  std::uint64_t prefix_hits = 0;
  std::uint64_t accepted_guesses = 0;
  std::uint64_t put_off = 0;        ///< decisions, their constraints being late
  std::vector<std::string> faults;  ///< one line each: which request differs from its run alone, and how
};

/// Sends requests of random lengths, samplers, grammars, choices, priorities, guesses and stops at random
/// times to an engine whose memory holds a few of them; some readers are slow, some requests are cancelled.
/// Then runs each alone on an engine without neighbours, guesses and prefixes, choosing on the host: tokens,
/// text, likelihoods and reasons must be the same bit for bit, and those of a cancelled request a beginning
/// of them. Requests depend on the seed alone.
SoakReport soak(const std::shared_ptr<const engine::LoadedModel>& model, const SoakOptions& options);

}  // namespace lanner::test
