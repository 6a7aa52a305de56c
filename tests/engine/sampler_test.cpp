// SPDX-License-Identifier: MIT
#include "engine/sampler.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "core/error.h"
#include "random.h"

namespace lanner::engine {
namespace {

const TokenLimits kNoLimits{.vocabulary = 1000};

TokenId choose(const SamplingOptions& options, std::vector<float> logits,
               std::span<const TokenId> history = {}, std::size_t position = 0,
               const TokenLimits& limits = kNoLimits) {
  return Sampler(options, limits).choose(logits, history, position);
}

/// Which tokens come out over many positions.
std::map<TokenId, int> histogram(const SamplingOptions& options, const std::vector<float>& logits,
                                 int draws) {
  std::map<TokenId, int> counts;
  for (int position = 0; position < draws; ++position)
    ++counts[choose(options, logits, {}, static_cast<std::size_t>(position))];
  return counts;
}

}  // namespace

TEST_CASE("greedy takes the largest logit, the lower id on a tie") {
  CHECK(choose({.temperature = 0}, {1, 3, 2, 3}) == 1);
  CHECK(choose({.temperature = 0}, {-5, -5}) == 0);
}

TEST_CASE("a logit that is not a number is an internal error, never a token") {
  CHECK_THROWS_AS(choose({.temperature = 0}, {1, std::nanf(""), 2}), Error);
  CHECK_THROWS_AS(choose({.temperature = 1}, {1, std::nanf(""), 2}), Error);
}

TEST_CASE("draws follow the softmax of logits over temperature") {
  const std::vector<float> logits = {std::log(0.5F), std::log(0.3F), std::log(0.15F), std::log(0.05F)};
  constexpr int kDraws = 40000;
  for (float temperature : {0.5F, 1.0F, 2.0F}) {
    const auto counts = histogram({.temperature = temperature, .seed = 11}, logits, kDraws);
    double total = 0;
    for (float l : logits) total += std::exp(double(l) / double(temperature));
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const double p = std::exp(double(logits[i]) / double(temperature)) / total;
      const double deviation = 5 * std::sqrt(p * (1 - p) * kDraws);  // five standard deviations
      CHECK(std::abs(counts.at(static_cast<TokenId>(i)) - p * kDraws) <= deviation);
    }
  }
}

TEST_CASE("a choice depends on seed and position only") {
  const auto logits = test::random_normal(500, 4);
  const SamplingOptions options{.temperature = 1, .seed = 9};
  Sampler used(options, kNoLimits);
  for (std::size_t position = 0; position < 50; ++position) {
    auto scratch = logits;
    CHECK(used.choose(scratch, {}, position) == choose(options, logits, {}, position));
  }
  int different = 0;
  for (std::size_t position = 0; position < 50; ++position)
    different +=
        choose({.temperature = 1, .seed = 10}, logits, {}, position) != choose(options, logits, {}, position);
  CHECK(different > 25);
}

TEST_CASE("top_k, top_p and min_p keep what they say, at temperature 1 whatever the temperature") {
  const std::vector<float> logits = {std::log(0.4F), std::log(0.3F), std::log(0.2F), std::log(0.1F)};
  const auto survivors = [&](SamplingOptions options) {
    options.temperature = 5;
    std::vector<TokenId> ids;
    for (const auto& [id, count] : histogram(options, logits, 2000)) ids.push_back(id);
    return ids;
  };
  CHECK(survivors({.top_k = 2}) == std::vector<TokenId>{0, 1});
  CHECK(survivors({.top_k = 1}) == std::vector<TokenId>{0});
  CHECK(survivors({.top_p = 0.65F}) == std::vector<TokenId>{0, 1});
  CHECK(survivors({.top_p = 0.75F}) == std::vector<TokenId>{0, 1, 2});
  CHECK(survivors({.top_p = 0.0F}) == std::vector<TokenId>{0});
  CHECK(survivors({.min_p = 0.45F}) == std::vector<TokenId>{0, 1, 2});
  CHECK(survivors({.top_k = 3, .top_p = 0.65F}) == std::vector<TokenId>{0, 1});
  CHECK(survivors({}) == std::vector<TokenId>{0, 1, 2, 3});
}

TEST_CASE("ties at the k-th place go to the lower id") {
  const std::vector<float> flat(8, 0.5F);
  for (const auto& [id, count] : histogram({.temperature = 1, .top_k = 3}, flat, 500)) CHECK(id < 3);
}

TEST_CASE("rows without a token and suppressed ids are never chosen") {
  const TokenLimits limits{.vocabulary = 3, .suppressed = {1}};
  for (float temperature : {0.0F, 1.0F})
    for (std::size_t position = 0; position < 200; ++position) {
      const TokenId id = choose({.temperature = temperature}, {0, 9, 1, 99, 99}, {}, position, limits);
      CHECK((id == 0 || id == 2));
    }
}

TEST_CASE("penalties lower tokens of the window, a bias moves one") {
  const std::vector<TokenId> history = {2, 1, 1};
  CHECK(choose({.temperature = 0, .repetition_penalty = 2}, {1, 1.9F, 0.5F}, history) == 0);
  CHECK(choose({.temperature = 0, .repetition_penalty = 2}, {-1.5F, -1, -9}, history) == 0);
  CHECK(choose({.temperature = 0, .presence_penalty = 1}, {1, 1.9F, 1.5F}, history) == 0);
  CHECK(choose({.temperature = 0, .frequency_penalty = 0.6F}, {0, 1, 0.5F}, history) == 0);
  CHECK(choose({.temperature = 0, .presence_penalty = 1, .presence_window = 2}, {1, 1.5F, 1.4F}, history) ==
        2);
  CHECK(choose({.temperature = 0, .logit_bias = {{0, 5}}}, {1, 1.9F, 1.5F}) == 0);
}

}  // namespace lanner::engine
