// SPDX-License-Identifier: MIT
#include "engine/memory_plan.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "cache/toy_sequence.h"
#include "core/planned_memory.h"
#include "engine/collected.h"
#include "engine/engine.h"
#include "engine/test_models.h"
#include "models/model_registry.h"

namespace lanner::engine {
namespace {

using test::collect;
using test::Collected;
using test::kTaleNames;
using test::tale;

/// The memory plan from headers alone, beside what a loaded model's engine goes by.
struct Planned {
  explicit Planned(const LoadedModel& loaded)
      : ops(loaded.ops()),
        pool(1),
        model(models::load_model(loaded.checkpoint(), {.ops = ops,
                                                       .compute = loaded.options().compute,
                                                       .pool = pool,
                                                       .use = models::WeightUse::kPlan})) {}
  device::Ops ops;
  ThreadPool pool;
  std::unique_ptr<models::Model> model;
};

std::shared_ptr<const LoadedModel> packed_tale(const std::string& name) {
  return std::make_shared<LoadedModel>(
      std::filesystem::path(LANNER_MODELS_DIR) / name,
      LoadOptions{.isa = detect_isa(), .compute = device::Compute::kInt8, .threads = 1});
}

/// Requests that run side by side, each of `tokens` tokens in all.
void run_together(Engine& engine, std::size_t users, std::size_t tokens, std::size_t draft) {
  std::vector<RequestHandle> handles;
  for (std::size_t i = 0; i < users; ++i) {
    Request request;
    request.prompt.assign(tokens - 40, static_cast<TokenId>(50 + i));
    request.max_tokens = 40;
    request.sampling.temperature = 0;
    request.end_of_text = EndOfText::kBanned;
    request.form = AnswerForm::kPlain;
    request.prefix = {.read = false, .write = false};
    request.draft_tokens = draft;
    request.draft_rule = DraftRule::kFixed;
    if (draft > 0)  // always some to check, right or wrong
      request.draft_source = [](std::span<const TokenId>, std::size_t count) {
        return std::vector<TokenId>(count, 50);
      };
    handles.push_back(engine.require(std::move(request)));
  }
  for (RequestHandle& handle : handles) collect(std::move(handle));
}

bool within(std::size_t value, std::size_t expected, double share) {
  return std::abs(static_cast<double>(value) - static_cast<double>(expected)) <=
         share * static_cast<double>(expected);
}

}  // namespace

TEST_CASE("a plan from headers is the plan of the loaded model") {
  for (const char* name : kTaleNames)
    for (const auto& loaded : {tale(name), packed_tale(name)}) {
      CAPTURE(name);
      const Planned planned(*loaded);
      const StepShape shape = {.rows = 512, .wanted = 8, .context = 1000, .threads = 2};
      const MemoryPlan from_headers(*planned.model, planned.ops, loaded->cache_spec(), shape);
      const MemoryPlan from_weights(loaded->model(), loaded->ops(), loaded->cache_spec(), shape);
      CHECK(from_headers.total_bytes(8, 1000) == from_weights.total_bytes(8, 1000));
      CHECK(from_headers.weights().owned_bytes == from_weights.weights().owned_bytes);
      CHECK(from_headers.weights().lookup_bytes == from_weights.weights().lookup_bytes);
    }
}

TEST_CASE("caches of sequences side by side take what the plan says, never more") {
  constexpr std::size_t kUsers = 4;
  for (const char* name : kTaleNames)
    for (const std::size_t tokens : {100U, 400U, 900U}) {
      CAPTURE(name);
      CAPTURE(tokens);
      const auto model = tale(name);
      Engine engine(model, {.max_sequences = kUsers, .inter_token_budget = std::chrono::milliseconds(0)});
      run_together(engine, kUsers, tokens, 0);
      const SequenceMemory& memory = engine.plan().sequence();
      const std::size_t most = kUsers * memory.bytes({.tokens = tokens});
      const std::size_t measured = engine.stats().peak_bytes;
      CHECK(measured <=
            most + memory.step_bytes(engine.options().max_step_tokens, engine.options().max_sequences));
      CHECK(measured >= most - kUsers * memory.bytes({.tokens = 64}));  // they end one after the other
    }
}

TEST_CASE("drafts stay within what is set aside for them") {
  for (const char* name : kTaleNames) {
    CAPTURE(name);
    Engine engine(tale(name), {.max_sequences = 2});
    run_together(engine, 2, 300, 7);
    const SequenceMemory& memory = engine.plan().sequence();
    CHECK(engine.stats().drafted[6] > 0);
    CHECK(engine.stats().peak_bytes <=
          2 * memory.bytes({.tokens = 300, .draft_rows = 8}) + memory.step_bytes(512, 2));
  }
}

TEST_CASE("a draft over the end of a chunk stays within what is set aside, also while it gets its memory") {
  for (const std::size_t rows : {4U, 8U}) {
    CAPTURE(rows);
    cache::BlockPool pool;
    const cache::CacheSpec spec = cache::toy_spec();
    cache::ToyForward forward;
    cache::SequenceCache sequence(spec, pool);
    const std::vector<TokenId> ids(60, 7);
    forward.append(sequence, ids);
    for (const std::size_t guesses : {rows / 2, rows}) {
      const std::optional<cache::Draft> draft = sequence.begin_draft(guesses);
      REQUIRE(draft);
      forward.append(sequence, std::vector<TokenId>(guesses, 8));
    }
    CHECK(pool.peak_bytes() <= SequenceMemory(spec).bytes({.tokens = ids.size() + rows, .draft_rows = rows}));
  }
}

TEST_CASE("a step's scratch takes within 3 % of what the plan says") {
  for (const char* name : kTaleNames)
    for (const auto& model : {tale(name), packed_tale(name)})
      for (const int threads : {1, 3}) {
        CAPTURE(name);
        CAPTURE(threads);
        Engine engine(model, {.threads = threads, .max_sequences = 3});
        run_together(engine, 3, 900, 0);
        CHECK(within(engine.stats().workspace_bytes, engine.plan().workspace().bytes(3), 0.03));
      }
}

TEST_CASE("a step of which all rows may be wanted has room for one of which fewer are") {
  for (const char* name : kTaleNames) {
    CAPTURE(name);
    const auto model = tale(name);
    const auto plan = [&](std::size_t wanted) {
      return plan_workspace(model->model(), model->ops(), model->cache_spec(),
                            {.rows = 64, .wanted = wanted});
    };
    for (const std::size_t fewer : {63, 40, 1}) {
      CHECK(plan(64).forward_bytes >= plan(fewer).forward_bytes);
      CHECK(plan(64).kept_bytes >= plan(fewer).kept_bytes);
    }
  }
}

TEST_CASE("what fits is found from both sides") {
  const auto model = tale("tale-gemma4");
  const MemoryPlan plan(model->model(), model->ops(), model->cache_spec(), {.wanted = 4});
  const std::size_t budget = plan.total_bytes(4, 1000);
  CHECK(plan.max_context(4, budget, 1 << 20) >= 1000);
  CHECK(plan.total_bytes(4, plan.max_context(4, budget, 1 << 20) + 1) > budget);
  CHECK(plan.max_users(1000, budget) == 4);
  CHECK(plan.max_context(4, plan.weight_bytes(), 1 << 20) == 0);
  CHECK(plan.max_users(1000, 0) == 0);
}

}  // namespace lanner::engine
