// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <future>
#include <span>
#include <vector>

#include "core/philox.h"
#include "engine/collected.h"
#include "engine/test_models.h"

namespace lanner::test {

/// Ids that every test model has. `stream` gives others for the same seed.
inline std::vector<TokenId> random_ids(std::size_t count, std::uint64_t seed, std::uint32_t stream = 3) {
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < count; ++i)
    ids.push_back(static_cast<TokenId>(
        8 + philox4x32(seed, {static_cast<std::uint32_t>(i), stream, 0, 0})[0] % (kRandomVocabulary - 16)));
  return ids;
}

/// A request whose answer goes on to its length and whose likelihoods tell every bit of the logits' totals.
inline engine::Request probe(std::size_t prompt, std::size_t tokens, std::uint64_t seed) {
  engine::Request request;
  request.prompt = random_ids(prompt, seed);
  request.sampling.temperature = seed % 2 == 0 ? 0.0F : 1.0F;
  request.sampling.seed = seed;
  request.max_tokens = tokens;
  request.top_logprobs = 4;
  request.end_of_text = engine::EndOfText::kBanned;
  request.form = engine::AnswerForm::kPlain;
  return request;
}

/// Makes a request hold its engine after the first token until `ready`, so that others surely run beside it.
inline void hold_until(engine::Request& request, std::shared_future<void> ready) {
  request.draft_tokens = 1;
  request.draft_source = [ready = std::move(ready)](std::span<const TokenId>, std::size_t) {
    ready.wait();
    return std::vector<TokenId>();
  };
}

/// What must be equal, bit for bit, of two answers to a probe.
struct Answer {
  std::vector<TokenId> tokens;
  std::vector<float> logprobs;
  bool operator==(const Answer&) const = default;
};

inline Answer answer_of(const Collected& got, std::size_t choice = 0) {
  Answer answer{.tokens = got.choices.at(choice).tokens, .logprobs = {}};
  for (const engine::LogprobEntry& entry : got.choices[choice].logprobs) {
    answer.logprobs.push_back(entry.token.logprob);
    for (const engine::TokenLogprob& other : entry.top) answer.logprobs.push_back(other.logprob);
  }
  return answer;
}

}  // namespace lanner::test
