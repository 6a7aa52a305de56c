// SPDX-License-Identifier: MIT
// What must not change an answer, on both families: the tale models and random ones with small windows.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "core/philox.h"
#include "engine/collected.h"
#include "engine/engine.h"
#include "engine/sequence_memory.h"
#include "engine/soak.h"
#include "engine/test_models.h"
#include "engine/test_requests.h"

namespace lanner::engine {
namespace {

using test::all_models;
using test::Answer;
using test::answer_of;
using test::collect;
using test::Collected;
using test::probe;

Answer run(Engine& engine, Request request) { return answer_of(collect(engine.require(std::move(request)))); }

Answer run_alone(const std::shared_ptr<const LoadedModel>& model, Request request) {
  Engine solo(model, {.max_sequences = 1, .prefix_bytes = 0});
  return run(solo, std::move(request));
}

std::vector<std::shared_ptr<const LoadedModel>> every_variant() {
  std::vector<std::shared_ptr<const LoadedModel>> models = all_models();
  for (auto& variant : test::quantized_variants()) models.push_back(std::move(variant));
  return models;
}

template <typename Check>
void on_every_model(Check&& check) {
  for (const auto& model : every_variant()) {
    CAPTURE(test::describe(*model));
    check(model);
  }
}

bool is_random(const LoadedModel& model) {
  return model.model().facts().vocabulary <= test::kRandomVocabulary;
}

/// What a step of `rows` rows of one kind may be cut into: every small number, and those around the edges of
/// tiles.
std::vector<std::size_t> row_counts() {
  std::vector<std::size_t> counts(9);
  std::iota(counts.begin(), counts.end(), std::size_t{1});
  for (std::size_t edge : {16U, 32U, 48U})
    for (std::size_t rows : {edge - 1, edge, edge + 1}) counts.push_back(rows);
  for (std::size_t rows : {63U, 64U}) counts.push_back(rows);
  return counts;
}

/// Guesses what follows from `truth`, rightly `right_percent` times in a hundred.
DraftSource guesses_of(std::vector<TokenId> truth, std::uint32_t right_percent, std::uint64_t seed) {
  return [truth = std::move(truth), right_percent, seed](std::span<const TokenId> text, std::size_t count) {
    std::vector<TokenId> guesses;
    for (std::size_t i = text.size(); i < std::min(truth.size(), text.size() + count); ++i) {
      const bool right = philox4x32(seed, {static_cast<std::uint32_t>(i), 9, 0, 0})[0] % 100 < right_percent;
      guesses.push_back(right ? truth[i] : TokenId{9});
    }
    return guesses;
  };
}

/// The request's tokens and what they are answered with.
std::vector<TokenId> whole_text(const Request& request, const Answer& answer) {
  std::vector<TokenId> text = request.prompt;
  text.insert(text.end(), answer.tokens.begin(), answer.tokens.end());
  return text;
}

}  // namespace

TEST_CASE("a request among up to 44 others, coming and going, answers as it does alone") {
  on_every_model([](const auto& model) {
    std::vector<Answer> alone;
    for (std::uint64_t seed = 0; seed < 4; ++seed)
      alone.push_back(run_alone(model, probe(20 + 31 * seed, 12, seed)));
    Engine engine(model, {.max_sequences = 48});
    for (int repeat = 0; repeat < 5; ++repeat) {
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
    const Request request = probe(200, 6, 7);
    const Answer want = run_alone(model, request);
    int threads = 0;
    for (std::size_t chunk : {64U, 192U, 512U, 2048U}) {
      threads = threads % 3 + 1;
      CAPTURE(chunk);
      CAPTURE(threads);
      Engine engine(model, {.threads = threads, .max_step_tokens = chunk, .prefill_chunk = chunk});
      CHECK(run(engine, request) == want);
    }
  });
}

TEST_CASE("a step of 1 to 64 sequences gives each the bits that it gets alone") {
  on_every_model([](const auto& model) {
    Request request = probe(70, 3, 8);
    const Answer want = run_alone(model, request);
    Engine engine(model, {.max_sequences = 64});
    for (std::size_t rows : row_counts()) {
      CAPTURE(rows);
      request.choices = rows;
      const Collected got = collect(engine.require(request));
      REQUIRE(got.choices.size() == rows);
      for (std::size_t i = 0; i < rows; ++i) CHECK(answer_of(got, i) == want);
    }
  });
}

TEST_CASE("a window of 1 to 64 rows of one sequence gives the bits of single tokens") {
  on_every_model([](const auto& model) {
    Request request = probe(60, 64, 9);
    const Answer want = run_alone(model, request);
    request.draft_rule = DraftRule::kFixed;
    request.draft_source = guesses_of(whole_text(request, want), 100, 0);
    Engine engine(model, {});
    for (std::size_t rows : row_counts()) {
      CAPTURE(rows);
      request.draft_tokens = rows - 1;
      const Collected got = collect(engine.require(request));
      CHECK(answer_of(got) == want);
      CHECK(got.end().usage.accepted_tokens >= (rows - 1) * (63 / rows));
    }
  });
}

TEST_CASE("guesses that are always right, never right or sometimes right change no bit") {
  on_every_model([](const auto& model) {
    // Across boundaries of 64, and windows (16 and 20 of random models, 128 of the trained one) and twice
    // them.
    const std::vector<std::size_t> prompts =
        is_random(*model) ? std::vector<std::size_t>{9} : std::vector<std::size_t>{110, 240};
    Engine engine(model, {});
    for (std::size_t prompt : prompts)
      for (std::uint64_t seed : {2U, 3U}) {
        Request request = probe(prompt, 40, seed);
        const Answer want = run_alone(model, request);
        for (std::uint32_t right_percent : {0U, 50U, 100U}) {
          CAPTURE(prompt);
          CAPTURE(right_percent);
          request.draft_tokens = 7;
          request.draft_rule = DraftRule::kFixed;
          request.draft_source = guesses_of(whole_text(request, want), right_percent, seed);
          const Collected got = collect(engine.require(request));
          CHECK(answer_of(got) == want);
          CHECK(got.end().usage.drafted_tokens > 0);
          if (right_percent == 100) CHECK(got.end().usage.accepted_tokens >= 30);
        }
      }
  });
}

TEST_CASE("guesses from the text's own repetitions change no bit") {
  on_every_model([](const auto& model) {
    Engine engine(model, {});
    for (std::uint64_t seed : {4U, 5U})
      for (DraftRule rule : {DraftRule::kFixed, DraftRule::kAdaptive}) {
        Request request = probe(24, 30, seed);
        const std::vector<TokenId> once = request.prompt;
        request.prompt.insert(request.prompt.end(), once.begin(), once.end());
        const Answer want = run_alone(model, request);
        request.draft_tokens = 6;
        request.draft_rule = rule;
        const Collected got = collect(engine.require(request));
        CHECK(answer_of(got) == want);
      }
  });
}

TEST_CASE("a hit at any length gives the bits of a cold start") {
  on_every_model([](const auto& model) {
    Engine engine(model, {.checkpoint_interval = 64});
    const Request whole = probe(270, 6, 11);
    run(engine, whole);
    for (std::size_t length : {65U, 66U, 100U, 128U, 129U, 200U, 257U}) {
      CAPTURE(length);
      Request part = whole;
      part.prompt.resize(length);
      part.prompt.back() = part.prompt[length / 2];
      const Collected warm = collect(engine.require(part));
      CHECK(warm.timings->cached_tokens >= (length - 1) / 64 * 64);
      CHECK(answer_of(warm) == run_alone(model, part));
    }
  });
}

TEST_CASE("a sequence that loses its caches and is replayed goes on with the same bits") {
  on_every_model([](const auto& model) {
    const auto request = [](std::uint64_t i) { return probe(18 + i, 70, 30 + i); };
    EngineOptions tight{.max_sequences = 4, .headroom_tokens = 4};
    const SequenceMemory memory(model->cache_spec());
    tight.cache_bytes = 2 * memory.bytes({.tokens = 100}) + memory.bytes({.tokens = 60});
    Engine engine(model, tight);
    std::promise<void> all_there;
    std::vector<RequestHandle> handles;
    for (std::uint64_t i = 0; i < 4; ++i) {
      Request next = request(i);
      if (i == 0) test::hold_until(next, all_there.get_future().share());
      handles.push_back(engine.require(std::move(next)));
    }
    all_there.set_value();
    for (std::uint64_t i = 0; i < 4; ++i)
      CHECK(answer_of(collect(std::move(handles[i]))) == run_alone(model, request(i)));
    CHECK(engine.stats().preemptions > 0);
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
  for (const auto& model : every_variant()) {
    const test::SoakReport report = test::soak(
        model,
        {.seed = seed++, .duration = std::chrono::milliseconds(300), .most_requests = 16, .threads = 1});
    CAPTURE(test::describe(*model));
    for (const std::string& fault : report.faults) FAIL_CHECK(fault);
    CHECK(report.requests > 0);
  }
}

}  // namespace lanner::engine
