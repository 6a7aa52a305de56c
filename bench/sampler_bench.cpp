// SPDX-License-Identifier: MIT
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/philox.h"
#include "core/portable_math.h"
#include "engine/sampler.h"
#include "engine/token_logprobs.h"

using namespace lanner;
using namespace lanner::engine;

namespace {

/// A bulk of unlikely tokens and a few that stand out of it.
std::vector<float> some_logits(std::size_t vocabulary) {
  std::vector<float> logits(vocabulary);
  for (std::size_t i = 0; i < vocabulary; ++i) {
    const auto words = philox4x32(1, {static_cast<std::uint32_t>(i), 0, 0, 0});
    constexpr double kSpread = 1.6;
    logits[i] = static_cast<float>(kSpread * (gumbel_noise(words[0]) - gumbel_noise(words[1])));
  }
  return logits;
}

struct Case {
  std::string name;
  SamplingOptions options;
  std::size_t top_logprobs = 0;
};

/// One token from a row of logits; the row is copied anew each time, which counts.
void choose(benchmark::State& state, const Case& settings, std::size_t vocabulary) {
  const std::vector<float> logits = some_logits(vocabulary);
  std::vector<float> row(vocabulary);
  std::vector<TokenId> tokens(200);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<TokenId>(i * 997 % vocabulary);
  Sampler sampler(settings.options, {.vocabulary = vocabulary - 200});
  for (auto _ : state) {
    std::ranges::copy(logits, row.begin());
    tokens.back() = (tokens.back() + 1) % 1000;
    const History history{.tokens = tokens, .prompt_tokens = 100};
    LogitBlocks blocks(row, detect_isa());
    sampler.adjust(blocks, history);
    const TokenId chosen = sampler.pick(blocks, history);
    benchmark::DoNotOptimize(chosen);
    if (settings.top_logprobs > 0)
      benchmark::DoNotOptimize(logprob_entry(blocks, chosen, settings.top_logprobs));
  }
}

const auto registered = [] {
  const std::vector<Case> cases = {
      {"greedy", {.temperature = 0}},
      {"temperature", {.temperature = 1}},
      {"top_k+top_p", {.temperature = 0.6F, .top_k = 20, .top_p = 0.95F}},
      {"top_p", {.temperature = 0.6F, .top_p = 0.95F}},
      {"min_p", {.temperature = 1, .min_p = 0.05F}},
      {"penalties",
       {.temperature = 0,
        .repetition_penalty = 1.1F,
        .presence_penalty = 0.5F,
        .penalty_window = 0,
        .presence_window = 0}},
      {"logprobs", {.temperature = 0}, 5},
  };
  for (std::size_t vocabulary : {248320, 262144})
    for (const Case& settings : cases)
      benchmark::RegisterBenchmark((settings.name + "/" + std::to_string(vocabulary)).c_str(), choose,
                                   settings, vocabulary)
          ->Unit(benchmark::kMicrosecond);
  return true;
}();

}  // namespace
