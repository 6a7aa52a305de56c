// SPDX-License-Identifier: MIT
// Constraints that do not answer in time: their sequences wait, the others do not, and nothing else changes.
#include "engine/late_constraint.h"

#include <doctest/doctest.h>

#include "engine/collected.h"
#include "engine/engine.h"
#include "engine/grammar_constraint.h"
#include "engine/test_grammars.h"
#include "engine/test_models.h"

namespace lanner::engine {
namespace {

using test::collect;
using test::Collected;
using test::Gate;
using test::kTaleNames;
using test::late;
using test::tale;

std::vector<ConstraintFactory> constraints_of(const LoadedModel& model) {
  std::vector<ConstraintFactory> all;
  for (auto& grammar : test::test_grammars(test::grammar_vocabulary(model, model.tokenizer().vocab_size())))
    all.emplace_back(
        [grammar, &model] { return std::make_unique<GrammarConstraint>(grammar, model.tokenizer()); });
  return all;
}

Request ask(const LoadedModel& model, const char* text, std::size_t max_tokens) {
  return {.prompt = model.tokenizer().encode(text),
          .sampling = {.temperature = 1, .seed = 4},
          .max_tokens = max_tokens,
          .end_of_text = EndOfText::kBanned};
}

void check_same(const Collected& got, const Collected& want) {
  REQUIRE_MESSAGE(!got.failure, got.failure->message);
  REQUIRE(got.choices.size() == want.choices.size());
  for (std::size_t i = 0; i < want.choices.size(); ++i) {
    CHECK(got.choices[i].tokens == want.choices[i].tokens);
    CHECK(got.choices[i].end->reason == want.choices[i].end->reason);
    CHECK(got.choices[i].content() == want.choices[i].content());
    REQUIRE(got.choices[i].logprobs.size() == want.choices[i].logprobs.size());
    for (std::size_t t = 0; t < want.choices[i].logprobs.size(); ++t)
      CHECK(got.choices[i].logprobs[t].token.logprob == want.choices[i].logprobs[t].token.logprob);
  }
}

}  // namespace

TEST_CASE("a row whose mask is late skips steps that others go on with, and says the same later") {
  for (const char* name : kTaleNames) {
    CAPTURE(name);
    const auto model = tale(name);
    Request held = ask(*model, "The fox said", 24);
    held.constraint = constraints_of(*model).front();
    Request free = ask(*model, "The hen saw a", 60);
    const Collected want_free = collect(Engine(model, {}).require(free));

    for (const std::size_t choices : {1U, 3U}) {
      CAPTURE(choices);
      held.choices = choices;
      const Collected want_held = collect(Engine(model, {}).require(held));
      Engine engine(model, {.threads = 2});
      const auto gate = std::make_shared<Gate>();
      Request slow = held;
      slow.constraint = late(held.constraint, 100, gate);
      RequestHandle waiting = engine.require(slow);
      check_same(collect(engine.require(free)), want_free);
      CHECK(engine.stats().put_off > 0);
      Collected got;
      while (auto event = waiting.next_for(std::chrono::milliseconds(0))) collect(got, std::move(*event));
      CHECK(got.choices.empty());
      gate->open();
      while (auto event = waiting.next()) collect(got, std::move(*event));
      check_same(got, want_held);
    }
  }
}

TEST_CASE("late or not, alone or with guesses and likelihoods, a constrained answer is the same") {
  for (const char* name : kTaleNames) {
    const auto model = tale(name);
    Engine engine(model, {.threads = 2});
    for (const ConstraintFactory& constraint : constraints_of(*model))
      for (const std::size_t guesses : {0U, 5U})
        for (const bool scores : {false, true}) {
          CAPTURE(name);
          CAPTURE(guesses);
          CAPTURE(scores);
          Request request = ask(*model, "The fox and the fox and the fox", 40);
          request.choices = 2;
          request.draft_tokens = guesses;
          request.draft_rule = DraftRule::kFixed;
          if (scores) request.top_logprobs = 2;
          request.constraint = constraint;
          const Collected want = collect(engine.require(request));
          for (const unsigned percent : {30U, 100U}) {
            request.constraint = late(constraint, percent);
            check_same(collect(engine.require(request)), want);
          }
        }
  }
}

TEST_CASE("who waits for a place starts when an answer ends by a late decision") {
  const auto model = tale(kTaleNames[0]);
  Request request = ask(*model, "The fox", 1);
  request.choices = 3;
  request.constraint = constraints_of(*model).front();
  const Collected want = collect(Engine(model, {}).require(request));
  Engine engine(model, {.max_sequences = 1});
  const auto gate = std::make_shared<Gate>();
  request.constraint = late(request.constraint, 100, gate);
  RequestHandle handle = engine.require(request);
  while (engine.stats().put_off == 0) std::this_thread::yield();
  gate->open();
  Collected got;
  while (auto event = handle.next_for(std::chrono::seconds(20))) collect(got, std::move(*event));
  check_same(got, want);
}

TEST_CASE("a request whose constraint is late can be cancelled") {
  const auto model = tale(kTaleNames[0]);
  Engine engine(model, {});
  Request request = ask(*model, "The fox", 24);
  const auto gate = std::make_shared<Gate>();
  request.constraint = late(constraints_of(*model).front(), 100, gate);
  RequestHandle waiting = engine.require(request);
  while (engine.stats().put_off == 0) std::this_thread::yield();
  waiting.cancel();
  CHECK(collect(std::move(waiting)).end().reason == FinishReason::kCancelled);
}

TEST_CASE("an engine closes while a constraint is late") {
  const auto model = tale(kTaleNames[0]);
  const auto gate = std::make_shared<Gate>();
  std::jthread opens_later;
  {
    Engine engine(model, {});
    Request request = ask(*model, "The fox", 24);
    request.constraint = late(constraints_of(*model).front(), 100, gate);
    RequestHandle closed = engine.require(request);
    while (engine.stats().put_off == 0) std::this_thread::yield();
    opens_later = std::jthread([gate] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      gate->open();
    });
  }
}

TEST_CASE("what goes wrong with a late constraint fails its request alone") {
  class Failing final : public TokenConstraint {
   public:
    void fill_mask(std::span<std::uint64_t> /*mask*/, Deadline until) override {
      if (until) throw text::grammar::GrammarLate();
      throw text::grammar::GrammarLimit("too much work");
    }
    bool can_end() const override { return false; }
    bool accept(TokenId /*token*/, Deadline /*until*/) override { return false; }
    void rollback(std::size_t /*tokens*/) override {}
    std::vector<TokenId> forced(Deadline /*until*/) override { return {}; }
  };
  const auto model = tale(kTaleNames[0]);
  Engine engine(model, {});
  Request request = ask(*model, "The fox", 24);
  request.constraint = [] { return std::make_unique<Failing>(); };
  const Collected got = collect(engine.require(request));
  REQUIRE(got.failure);
  CHECK(got.failure->message == "too much work");
  CHECK(got.failure->kind == FailureKind::kGrammarLimit);
  CHECK(got.failure->error == ErrorKind::kUnsupported);
  CHECK(!collect(engine.require(ask(*model, "The fox", 4))).failure);
}

TEST_CASE("a grammar that meets its limit among guesses ends no request") {
  class Limited final : public TokenConstraint {
   public:
    void fill_mask(std::span<std::uint64_t> mask, Deadline /*until*/) override {
      std::ranges::fill(mask, ~std::uint64_t{0});
      taken_ = 0;
    }
    bool can_end() const override { return true; }
    bool accept(TokenId /*token*/, Deadline /*until*/) override {
      if (taken_ == 2) throw text::grammar::GrammarLimit("too much work");
      ++taken_;
      return true;
    }
    void rollback(std::size_t tokens) override { taken_ -= tokens; }
    std::vector<TokenId> forced(Deadline /*until*/) override { return {}; }

   private:
    std::size_t taken_ = 0;
  };
  const auto model = tale(kTaleNames[0]);
  Engine engine(model, {});
  Request request = ask(*model, "The fox and the fox and the fox and the fox", 24);
  request.draft_tokens = 5;
  request.draft_rule = DraftRule::kFixed;
  request.constraint = [] { return std::make_unique<Limited>(); };
  RequestHandle neighbour = engine.require(ask(*model, "The hen", 24));
  const Collected got = collect(engine.require(request));
  CHECK(engine.stats().drafted[2] == 0);
  CHECK(engine.stats().drafted[1] > 0);
  CHECK_MESSAGE(!got.failure, got.failure->message);
  CHECK(!collect(std::move(neighbour)).failure);
}

}  // namespace lanner::engine
