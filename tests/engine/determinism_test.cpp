// SPDX-License-Identifier: MIT
// What must not change an answer, on both families: the tale models and random ones with small windows.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "core/philox.h"
#include "engine/collected.h"
#include "engine/engine.h"
#include "engine/soak.h"
#include "engine/test_models.h"

namespace lanner::engine {
namespace {

using test::all_models;
using test::collect;
using test::Collected;

std::vector<TokenId> random_ids(std::size_t count, std::uint64_t seed) {
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < count; ++i)
    ids.push_back(static_cast<TokenId>(8 + philox4x32(seed, {static_cast<std::uint32_t>(i), 3, 0, 0})[0] %
                                               (test::kRandomVocabulary - 16)));
  return ids;
}

/// A request whose answer goes on to its length and whose likelihoods tell every bit of the logits' totals.
Request probe(std::size_t prompt, std::size_t tokens, std::uint64_t seed) {
  Request request;
  request.prompt = random_ids(prompt, seed);
  request.sampling.temperature = seed % 2 == 0 ? 0.0F : 1.0F;
  request.sampling.seed = seed;
  request.max_tokens = tokens;
  request.top_logprobs = 4;
  request.end_of_text = EndOfText::kBanned;
  request.form = AnswerForm::kPlain;
  return request;
}

struct Answer {
  std::vector<TokenId> tokens;
  std::vector<float> logprobs;
  bool operator==(const Answer&) const = default;
};

Answer answer_of(const Collected& got) {
  Answer answer{.tokens = got.tokens(), .logprobs = {}};
  for (const LogprobEntry& entry : got.choices[0].logprobs) {
    answer.logprobs.push_back(entry.token.logprob);
    for (const TokenLogprob& other : entry.top) answer.logprobs.push_back(other.logprob);
  }
  return answer;
}

Answer run(Engine& engine, Request request) { return answer_of(collect(engine.require(std::move(request)))); }

Answer run_alone(const std::shared_ptr<const LoadedModel>& model, Request request) {
  Engine solo(model, {.max_sequences = 1, .prefix_bytes = 0});
  return run(solo, std::move(request));
}

template <typename Check>
void on_every_model(Check&& check) {
  for (const auto& model : all_models()) {
    CAPTURE(model->checkpoint().folder().filename().string());
    check(model);
  }
}

}  // namespace

TEST_CASE("a request among up to 44 others, coming and going, answers as it does alone") {
  on_every_model([](const auto& model) {
    std::vector<Answer> alone;
    for (std::uint64_t seed = 0; seed < 4; ++seed)
      alone.push_back(run_alone(model, probe(20 + 31 * seed, 12, seed)));
    Engine engine(model, {.max_sequences = 48});
    for (int repeat = 0; repeat < 2; ++repeat) {
      std::vector<RequestHandle> crowd;
      std::vector<RequestHandle> probes;
      for (std::uint64_t i = 0; i < 44; ++i) {
        crowd.push_back(engine.require(probe(1 + i % 13, 4 + i % 9, 100 + i)));
        if (i % 11 == 5) probes.push_back(engine.require(probe(20 + 31 * (i / 11), 12, i / 11)));
      }
      for (std::size_t i = 0; i < crowd.size(); i += 5) crowd[i].cancel();
      for (std::size_t i = 0; i < probes.size(); ++i)
        CHECK(answer_of(collect(std::move(probes[i]))) == alone[i]);
    }
  });
}

TEST_CASE("pieces of a prompt, threads and the rows of a step change no bit") {
  on_every_model([](const auto& model) {
    const Request request = probe(300, 6, 7);
    const Answer want = run_alone(model, request);
    for (std::size_t chunk : {64U, 192U, 512U, 2048U})
      for (int threads : {1, 2}) {
        CAPTURE(chunk);
        Engine engine(model, {.threads = threads, .max_step_tokens = chunk, .prefill_chunk = chunk});
        CHECK(run(engine, request) == want);
      }
  });
}

TEST_CASE("guesses that are always right, never right or sometimes right change no bit") {
  on_every_model([](const auto& model) {
    for (std::uint64_t seed : {2U, 3U}) {
      // Positions around twice the window of 16 and 20, and across a boundary of 64.
      Request request = probe(29, 44, seed);
      const Answer want = run_alone(model, request);
      std::vector<TokenId> truth = request.prompt;
      truth.insert(truth.end(), want.tokens.begin(), want.tokens.end());
      Engine engine(model, {});
      for (std::uint32_t right_percent : {0U, 50U, 100U}) {
        CAPTURE(right_percent);
        request.draft_tokens = 7;
        request.draft_rule = DraftRule::kFixed;
        request.draft_source = [&](std::span<const TokenId> text, std::size_t count) {
          std::vector<TokenId> guesses;
          for (std::size_t i = text.size(); i < std::min(truth.size(), text.size() + count); ++i) {
            const bool right =
                philox4x32(seed, {static_cast<std::uint32_t>(i), 9, 0, 0})[0] % 100 < right_percent;
            guesses.push_back(right ? truth[i] : TokenId{9});
          }
          return guesses;
        };
        const Collected got = collect(engine.require(request));
        CHECK(answer_of(got) == want);
        CHECK(got.end().usage.drafted_tokens > 0);
        if (right_percent == 100) CHECK(got.end().usage.accepted_tokens >= 30);
      }
    }
  });
}

TEST_CASE("a prompt that was generated before gives the bits of one that was not") {
  on_every_model([](const auto& model) {
    Engine engine(model, {});
    const Request first = probe(70, 30, 5);
    Request second = probe(1, 10, 6);
    second.prompt = first.prompt;
    for (TokenId id : run(engine, first).tokens) second.prompt.push_back(id);
    second.prompt.push_back(11);
    const Collected warm = collect(engine.require(second));
    CHECK(warm.timings->cached_tokens == 99);
    CHECK(answer_of(warm) == run_alone(model, second));
  });
}

TEST_CASE("a short soak: every answer under pressure is the one the request gets alone") {
  std::uint64_t seed = 20;
  for (const auto& model : all_models()) {
    const bool small = model->model().facts().vocabulary <= test::kRandomVocabulary;
    const test::SoakReport report = test::soak(
        model, small ? test::kRandomVocabulary : 4000,
        {.seed = seed++, .duration = std::chrono::milliseconds(900), .most_requests = 24, .threads = 1});
    CAPTURE(model->checkpoint().folder().filename().string());
    for (const std::string& fault : report.faults) FAIL_CHECK(fault);
    CHECK(report.requests > 0);
  }
}

}  // namespace lanner::engine
