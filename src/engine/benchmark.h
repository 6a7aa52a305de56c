// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cache/sequence_cache.h"
#include "core/arena.h"
#include "device/stream.h"
#include "engine/forward_work.h"
#include "engine/loaded_model.h"

namespace lanner::engine {

/// What is timed: feeding `prompt` tokens, then `decode` steps, in each of `sequences` sequences that hold
/// `depth` tokens before. The steps of all sequences share their forwards.
struct BenchmarkTest {
  std::size_t prompt = 0;
  std::size_t decode = 0;
  std::size_t depth = 0;
  std::size_t sequences = 1;

  std::size_t tokens() const { return (prompt + decode) * sequences; }
  /// As llama-bench writes it: "pp512", "tg64", "pp512+tg64", with " x8" for sequences and " @ d4096".
  std::string name() const;
};

/// What a run's seconds are: elapsed ones, or those that the processors spent on this process. The latter
/// compare on a busy machine, for one thread: more threads wait for each other.
enum class BenchmarkClock : std::uint8_t { kElapsed, kProcessor };

/// The prompt rows whose final hidden states are wanted: the last one's, or those of all, as embeddings,
/// likelihoods of the prompt or a drafter would read. Logits are the last row's in both.
enum class PromptRows : std::uint8_t { kLast, kAll };

/// How tests are run.
struct BenchmarkOptions {
  std::size_t chunk = 512;  ///< prompt rows of one forward
  BenchmarkClock clock = BenchmarkClock::kElapsed;
  PromptRows prompt_rows = PromptRows::kLast;
};

/// Runs tests with random tokens; a context once filled serves every repeat.
class Benchmark {
 public:
  /// Model and stream must outlive it.
  Benchmark(const LoadedModel& model, device::Stream& stream, const BenchmarkOptions& options)
      : model_(model),
        stream_(stream),
        options_(options),
        pool_(cache::BlockPool::kUnlimited, *model.ops().memory),
        arena_(*model.ops().memory) {}

  /// Fills the contexts a test starts from, unless they are there. Throws Error kInvalidArgument when a test
  /// does not fit the model's context.
  void prepare(const BenchmarkTest& test);
  /// Seconds of one run.
  double run(const BenchmarkTest& test);
  /// What the run had to read and multiply.
  ForwardWork work(const BenchmarkTest& test) const;

 private:
  void feed_prompt(std::vector<cache::SequenceCache>& caches, std::size_t tokens);
  void decode(std::vector<cache::SequenceCache>& caches);
  std::vector<TokenId> random_tokens(std::size_t count);
  /// Wanted rows of a prompt's piece of `count` rows that `rest` rows follow, ascending.
  std::vector<std::int32_t> wanted_rows(std::size_t count, std::size_t rest) const;

  const LoadedModel& model_;
  device::Stream& stream_;
  BenchmarkOptions options_;
  cache::BlockPool pool_;
  Arena arena_;
  std::vector<cache::SequenceCache> contexts_;
  std::uint32_t drawn_ = 0;
};

}  // namespace lanner::engine
