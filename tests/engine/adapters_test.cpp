// SPDX-License-Identifier: MIT
// Adapters in an engine: what a request is answered depends on the request's own, whatever was cached or runs
// beside it.
#include <doctest/doctest.h>

#include <algorithm>
#include <future>

#include "adapter_recipe.h"
#include "engine/collected.h"
#include "engine/engine.h"
#include "engine/request_channel.h"
#include "engine/scheduler.h"
#include "engine/test_models.h"
#include "engine/test_requests.h"
#include "io/temporary_folder.h"

namespace lanner::engine {
namespace {

namespace fs = std::filesystem;
using test::AdapterRecipe;
using test::Answer;
using test::answer_of;
using test::collect;
using test::Collected;
using test::probe;
using Loaded = std::shared_ptr<const LoadedModel>;

std::vector<Loaded> models() {
  return {test::random_model("gemma4/g1_e_ple_kvshare"), test::random_model("gemma4/g3_moe"),
          test::random_model("qwen3_5/q3_moe"), test::tale("tale-qwen3_5"),
          test::tale("tale-gemma4", {.compute = device::Compute::kInt8})};
}

/// Three adapters of a model, on disk: "a" on everything, "b" on everything, "attention" on attention alone.
struct AdapterFolders {
  io::TemporaryFolder place;

  explicit AdapterFolders(const LoadedModel& model) {
    const auto& targets = model.model().facts().targets;
    test::write_adapter(place.path() / "a", {.seed = 1}, targets);
    test::write_adapter(place.path() / "b", {.seed = 2, .rank = 3, .form = test::AdapterForm::kMlx}, targets);
    AdapterRecipe attention{.seed = 3};
    attention.wants = [](const auto& target) { return target.path.find("attn") != std::string::npos; };
    test::write_adapter(place.path() / "attention", attention, targets);
  }
  void mount(Engine& engine) const {
    for (const char* id : {"a", "b", "attention"})
      CHECK(engine.mount_adapter(id, place.path() / id) == MountResult::kMounted);
  }
};

Request with(Request request, Engine& engine, const std::string& choice) {
  request.adapters = engine.adapters().select(parse_adapter_choices(choice));
  return request;
}

Answer run(Engine& engine, const Request& request, const std::string& choice) {
  return answer_of(collect(engine.require(with(request, engine, choice))));
}

/// From an engine that has computed nothing before.
Answer run_cold(const Loaded& model, const AdapterFolders& folders, const Request& request,
                const std::string& choice) {
  Engine engine(model, {.max_sequences = 1, .prefix_bytes = 0});
  folders.mount(engine);
  return run(engine, request, choice);
}

const std::vector<std::string> kChoices = {"none", "a", "b", "a@0.5", "a+b", "b+a", "attention"};

template <typename Check>
void on_every_model(Check&& check) {
  for (const Loaded& model : models()) {
    CAPTURE(test::describe(*model));
    const AdapterFolders folders(*model);
    check(model, folders);
  }
}

}  // namespace

TEST_CASE("choices of adapters are read in order, with strengths") {
  using Choices = std::vector<AdapterChoice>;
  CHECK(parse_adapter_choices("").empty());
  CHECK(parse_adapter_choices("none").empty());
  CHECK(parse_adapter_choices("a") == Choices{{"a", 1}});
  CHECK(parse_adapter_choices("a@0.5+b") == Choices{{"a", 0.5F}, {"b", 1}});
  CHECK(parse_adapter_choices("b.2,a-1@-2") == Choices{{"b.2", 1}, {"a-1", -2}});
  for (const char* bad : {"+", "a+", "+a", "a++b", "a@", "@1", "a@x", "a@1x", "a@nan", "a@inf", "a@1e9",
                          "a b", "../a", ".a", "a/b", "a+none", "ä"})
    CHECK_MESSAGE(!io::error_of(ErrorKind::kInvalidArgument, [&] { parse_adapter_choices(bad); }).empty(),
                  bad);
}

TEST_CASE("cached or not, an answer is that of its own adapters and strengths") {
  on_every_model([](const Loaded& model, const AdapterFolders& folders) {
    const Request request = probe(150, 8, 4);
    std::vector<Answer> cold;
    for (const std::string& choice : kChoices) cold.push_back(run_cold(model, folders, request, choice));
    for (std::size_t i = 0; i < cold.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)  // sums of two adapters in two orders may have equal bits
        if (kChoices[i] != "b+a") CHECK(cold[i].logprobs != cold[j].logprobs);
    Engine engine(model, {.checkpoint_interval = 64});
    folders.mount(engine);
    for (std::size_t i = 0; i < kChoices.size(); ++i) {
      CAPTURE(kChoices[i]);
      const Collected first = collect(engine.require(with(request, engine, kChoices[i])));
      CHECK(first.timings->cached_tokens == 0);
      CHECK(answer_of(first) == cold[i]);
    }
    for (std::size_t i = kChoices.size(); i-- > 0;) {
      CAPTURE(kChoices[i]);
      const Collected again = collect(engine.require(with(request, engine, kChoices[i])));
      CHECK(again.timings->cached_tokens >= 128);
      CHECK(answer_of(again) == cold[i]);
    }
  });
}

TEST_CASE("among neighbours with other adapters and none, an answer has the bits it has alone") {
  on_every_model([](const Loaded& model, const AdapterFolders& folders) {
    std::vector<Answer> alone;
    for (std::size_t i = 0; i < kChoices.size(); ++i)
      alone.push_back(run_cold(model, folders, probe(20 + 7 * i, 10, i), kChoices[i]));
    for (int threads : {1, 2}) {
      Engine engine(model, {.threads = threads, .max_sequences = 24});
      folders.mount(engine);
      std::vector<RequestHandle> crowd, probes;
      for (std::size_t i = 0; i < 21; ++i) {
        const auto& others = kChoices[(5 * i + 3) % kChoices.size()];
        crowd.push_back(engine.require(with(probe(1 + i % 13, 3 + i % 9, 100 + i), engine, others)));
        if (i % 3 == 2)
          probes.push_back(engine.require(with(probe(20 + 7 * (i / 3), 10, i / 3), engine, kChoices[i / 3])));
      }
      for (std::size_t i = 0; i < crowd.size(); i += 4) crowd[i].cancel();
      for (std::size_t i = 0; i < probes.size(); ++i) {
        CAPTURE(kChoices[i]);
        CHECK(answer_of(collect(std::move(probes[i]))) == alone[i]);
      }
    }
  });
}

TEST_CASE("pieces of a prompt, guesses and lost caches change no bit with adapters") {
  on_every_model([](const Loaded& model, const AdapterFolders& folders) {
    const std::string choice = "a@0.5+attention";
    const Request request = probe(130, 24, 5);
    const Answer want = run_cold(model, folders, request, choice);
    for (std::size_t chunk : {64U, 128U}) {
      Engine engine(model, {.threads = 2, .max_step_tokens = chunk, .prefill_chunk = chunk});
      folders.mount(engine);
      CHECK(run(engine, request, choice) == want);
    }
    Engine engine(model, {});
    folders.mount(engine);
    Request guessing = request;
    guessing.draft_tokens = 6;
    guessing.draft_rule = DraftRule::kFixed;
    std::vector<TokenId> truth = request.prompt;
    truth.insert(truth.end(), want.tokens.begin(), want.tokens.end());
    guessing.draft_source = [truth](std::span<const TokenId> text, std::size_t count) {
      std::vector<TokenId> guesses;  // every fourth is wrong
      for (std::size_t i = text.size(); i < std::min(truth.size(), text.size() + count); ++i)
        guesses.push_back(i % 4 == 0 ? TokenId{9} : truth[i]);
      return guesses;
    };
    const Collected guessed = collect(engine.require(with(guessing, engine, choice)));
    CHECK(answer_of(guessed) == want);
    CHECK(guessed.end().usage.accepted_tokens > 0);

    EngineOptions tight{.max_sequences = 4, .headroom_tokens = 4};
    const SequenceMemory memory(model->cache_spec());
    tight.cache_bytes = 2 * memory.bytes({.tokens = 100}) + memory.bytes({.tokens = 60});
    Engine short_of_memory(model, tight);
    folders.mount(short_of_memory);
    std::promise<void> all_there;
    std::vector<RequestHandle> handles;
    const auto each = [&](std::size_t i) { return probe(18 + i, 70, 30 + i); };
    for (std::size_t i = 0; i < 4; ++i) {
      Request next = with(each(i), short_of_memory, kChoices[i]);
      if (i == 0) test::hold_until(next, all_there.get_future().share());
      handles.push_back(short_of_memory.require(std::move(next)));
    }
    all_there.set_value();
    for (std::size_t i = 0; i < 4; ++i)
      CHECK(answer_of(collect(std::move(handles[i]))) == run_cold(model, folders, each(i), kChoices[i]));
    CHECK(short_of_memory.stats().preemptions > 0);
  });
}

TEST_CASE("several choices of one request all have its adapters") {
  const Loaded model = test::random_model("qwen3_5/q3_moe");
  const AdapterFolders folders(*model);
  Request request = probe(70, 6, 7);
  const Answer want = run_cold(model, folders, request, "b");
  request.choices = 3;
  Engine engine(model, {});
  folders.mount(engine);
  const Collected got = collect(engine.require(with(request, engine, "b")));
  REQUIRE(got.choices.size() == 3);
  CHECK(answer_of(got) == want);
}

TEST_CASE(
    "an adapter that was unmounted cannot be chosen, its prefixes are forgotten, its users end with it") {
  const Loaded model = test::tale("tale-qwen3_5");
  const AdapterFolders folders(*model);
  Engine engine(model, {.checkpoint_interval = 64});
  folders.mount(engine);
  const Request request = probe(140, 60, 6);
  const Answer want = run_cold(model, folders, request, "a");
  run(engine, request, "a");
  run(engine, request, "none");
  const std::size_t known = engine.stats().prefixes.checkpoints;

  RequestHandle running = engine.require(with(request, engine, "a+b"));
  while (engine.adapters().find("a")->in_use == 0) {
  }
  CHECK(engine.adapters().find("b")->in_use == 1);
  CHECK(engine.adapters().find("attention")->in_use == 0);
  CHECK(engine.unmount_adapter("a", UnmountRule::kRefuse) == UnmountResult::kInUse);
  CHECK(engine.unmount_adapter("x", UnmountRule::kRefuse) == UnmountResult::kUnknown);
  std::promise<void> released;
  CHECK(engine.unmount_adapter("a", UnmountRule::kLetEnd, [&] { released.set_value(); }) ==
        UnmountResult::kUnmounted);
  io::error_of(ErrorKind::kNotFound, [&] { engine.adapters().select(parse_adapter_choices("b+a")); });
  CHECK(answer_of(collect(std::move(running))) == run_cold(model, folders, request, "a+b"));
  CHECK(released.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready);

  // What was computed with it is gone; the rest is not.
  CHECK(engine.stats().prefixes.checkpoints < known);
  CHECK(collect(engine.require(request)).timings->cached_tokens >= 128);
  CHECK(engine.mount_adapter("a", folders.place.path() / "a") == MountResult::kMounted);
  const Collected again = collect(engine.require(with(request, engine, "a")));
  CHECK(again.timings->cached_tokens == 0);
  CHECK(answer_of(again) == want);
}

TEST_CASE("an id belongs to one adapter, a new scale is for new requests, and memory is counted") {
  const Loaded model = test::tale("tale-gemma4");
  const AdapterFolders folders(*model);
  Engine engine(model, {});
  const std::size_t budget = engine.cache_budget_bytes();
  folders.mount(engine);
  CHECK(engine.mount_adapter("a", folders.place.path() / "a") == MountResult::kWasMounted);
  CHECK(engine.mount_adapter("a", folders.place.path() / "b") == MountResult::kConflict);
  CHECK(engine.mount_adapter("a", folders.place.path() / "a", 2) == MountResult::kConflict);
  io::error_of(ErrorKind::kInvalidArgument, [&] { engine.mount_adapter("a/b", folders.place.path() / "a"); });
  io::error_of(ErrorKind::kInvalidArgument,
               [&] { engine.mount_adapter("c", folders.place.path() / "a", INFINITY); });

  std::size_t bytes = 0;
  for (const MountedAdapter& mounted : engine.adapters().list()) bytes += mounted.adapter->size_bytes;
  collect(engine.require(probe(8, 1, 1)));
  CHECK(engine.stats().adapter_bytes == bytes);
  CHECK(engine.cache_budget_bytes() + bytes <= budget);

  const Request request = probe(40, 6, 4);
  const Answer half = run(engine, request, "a@0.5");
  CHECK(engine.adapters().set_scale("a", 0.5F));
  CHECK_FALSE(engine.adapters().set_scale("x", 0.5F));
  CHECK(run(engine, request, "a") == half);
  for (const char* id : {"a", "b", "attention"})
    CHECK(engine.unmount_adapter(id, UnmountRule::kRefuse) == UnmountResult::kUnmounted);
  collect(engine.require(probe(8, 1, 1)));
  CHECK(engine.stats().adapter_bytes == 0);
  CHECK(engine.cache_budget_bytes() == budget);
}

TEST_CASE("an adapter for which there is no memory beside what requests were promised is refused") {
  const Loaded model = test::tale("tale-gemma4");
  Scheduler scheduler(*model, {});
  const std::size_t budget = scheduler.budget().total_bytes();
  scheduler.take_adapter_bytes(1000);
  const std::size_t left = scheduler.budget().total_bytes();
  CHECK(left + 1000 <= budget);
  const std::string message =
      io::error_of(ErrorKind::kOutOfMemory, [&] { scheduler.take_adapter_bytes(left + 1); });
  CHECK(message.find("the adapter takes") != std::string::npos);
  CHECK(scheduler.budget().total_bytes() == left);

  const auto ticket = std::make_shared<Ticket>();
  ticket->request = probe(8, 4, 1);
  ticket->token_limit = 12;
  ticket->channel = std::make_shared<RequestChannel>(64, [] {});
  scheduler.add(ticket);
  io::error_of(ErrorKind::kOutOfMemory, [&] { scheduler.take_adapter_bytes(left - 1); });
  CHECK_NOTHROW(scheduler.take_adapter_bytes(left / 2));
  // One that was measured against more memory than there is now.
  const auto late = std::make_shared<Ticket>(*ticket);
  late->token_limit = scheduler.budget().longest_fitting(std::size_t{1} << 40) + 64;
  io::error_of(ErrorKind::kOutOfMemory, [&] { scheduler.add(late); });
  scheduler.give_adapter_bytes(left / 2);
  scheduler.give_adapter_bytes(1000);
  CHECK(scheduler.budget().total_bytes() == budget);
}

TEST_CASE("an adapter that makes numbers no longer finite fails its own requests, and is named") {
  on_every_model([](const Loaded& model, const AdapterFolders& folders) {
    AdapterRecipe huge{.seed = 4, .alpha = 0.1};
    huge.strength = 1e37F;
    test::write_adapter(folders.place.path() / "huge", huge, model->model().facts().targets);
    Engine engine(model, {});
    engine.mount_adapter("huge", folders.place.path() / "huge");
    Request embedding;
    embedding.prompt = probe(70, 0, 1).prompt;
    embedding.pooling = Pooling::kMean;
    const Answer want = answer_of(collect(engine.require(probe(70, 6, 1))));
    for (const Request& request : {probe(70, 6, 1), probe(3, 6, 2), embedding}) {
      const Collected answer = collect(engine.require(with(request, engine, "huge@1000")));
      REQUIRE(answer.failure);
      CHECK(answer.failure->error == ErrorKind::kInvalidArgument);
      CHECK(answer.failure->message.find("\"huge@1000\"") != std::string::npos);
      Request plain = probe(70, 6, 1);
      plain.prefix.read = false;
      CHECK(answer_of(collect(engine.require(plain))) == want);
    }
  });
}

TEST_CASE("a saved state is of its adapters alone") {
  const Loaded model = test::tale("tale-qwen3_5");
  const AdapterFolders folders(*model);
  const io::TemporaryFolder states;
  const fs::path file = states.path() / "a.state";
  const Request request = probe(100, 6, 8);
  Answer want;
  {
    Engine engine(model, {.checkpoint_interval = 64});
    folders.mount(engine);
    want = run(engine, request, "a");
    const auto a = engine.adapters().select(parse_adapter_choices("a"));
    CHECK(engine.save_prefix(file, request.prompt, nullptr) == 0);
    CHECK(engine.save_prefix(file, request.prompt, a.get()) == 64);
  }
  Engine engine(model, {});
  folders.mount(engine);
  const auto select = [&](const char* choice) {
    return engine.adapters().select(parse_adapter_choices(choice));
  };
  for (const char* other : {"none", "b", "a@0.5", "a+b"}) {
    const std::string message =
        io::error_of(ErrorKind::kInvalidArgument, [&] { engine.restore_state(file, select(other).get()); });
    CHECK(message.find("adapters") != std::string::npos);
  }
  CHECK(engine.restore_state(file, select("a").get()) == 64);
  const Collected warm = collect(engine.require(with(request, engine, "a")));
  CHECK(warm.timings->cached_tokens == 64);
  CHECK(answer_of(warm) == want);
  CHECK(collect(engine.require(request)).timings->cached_tokens == 0);
}

}  // namespace lanner::engine
