// SPDX-License-Identifier: MIT
#include "engine/engine.h"

#include <doctest/doctest.h>

#include <string>
#include <thread>

#include "core/error.h"
#include "engine/collected.h"
#include "engine/sequence_memory.h"
#include "engine/test_models.h"

namespace lanner::engine {
namespace {

using test::collect;
using test::Collected;
using test::kTaleNames;
using test::tale;

EngineOptions options(std::size_t sequences = 8) { return {.max_sequences = sequences}; }

Request plain(const LoadedModel& model, const std::string& text, std::size_t tokens) {
  return {.prompt = model.encode_plain(text),
          .sampling = {.temperature = 1, .top_k = 40, .seed = 5},
          .max_tokens = tokens,
          .form = AnswerForm::kPlain};
}

Request bare(std::vector<TokenId> prompt) {
  Request request;
  request.prompt = std::move(prompt);
  return request;
}

Request story(const LoadedModel& model, std::size_t tokens) {
  return plain(model, "Once upon a time there was a fox who", tokens);
}

}  // namespace

TEST_CASE("the same seed gives the same text for any prompt chunk and thread count") {
  for (const char* name : kTaleNames) {
    CAPTURE(name);
    const auto model = tale(name);
    std::vector<TokenId> first;
    std::string long_prompt;
    for (int i = 0; i < 40; ++i) long_prompt += "The fox went over the hill " + std::to_string(i) + ". ";
    for (int threads : {1, 2})
      for (std::size_t chunk : {64U, 192U, 512U}) {
        Engine engine(model, {.threads = threads, .prefill_chunk = chunk});
        const Collected got = collect(engine.require(plain(*model, long_prompt, 40)));
        CHECK(got.tokens().size() == 40);
        if (first.empty()) first = got.tokens();
        CHECK(got.tokens() == first);
      }
  }
}

TEST_CASE("many requests at once answer as each does alone") {
  for (const char* name : kTaleNames) {
    CAPTURE(name);
    const auto model = tale(name);
    const auto request = [&](std::size_t i) {
      Request one = story(*model, 8 + 3 * i);
      one.prompt.resize(one.prompt.size() - i % 3);
      one.sampling.seed = i;
      one.sampling.temperature = i % 4 == 0 ? 0.0F : 1.0F;
      return one;
    };
    std::vector<std::vector<TokenId>> alone;
    Engine solo(model, options(1));
    for (std::size_t i = 0; i < 11; ++i) alone.push_back(collect(solo.require(request(i))).tokens());
    Engine engine(model, options(4));
    std::vector<RequestHandle> handles;
    for (std::size_t i = 0; i < 11; ++i) handles.push_back(engine.require(request(i)));
    for (std::size_t i = 0; i < 11; ++i) CHECK(collect(std::move(handles[i])).tokens() == alone[i]);
    CHECK(engine.stats().running == 0);
  }
}

TEST_CASE("sequences that lose their caches go on as if nothing had happened") {
  for (const char* name : kTaleNames) {
    CAPTURE(name);
    const auto model = tale(name);
    Engine roomy(model, options());
    std::vector<std::vector<TokenId>> want;
    for (std::size_t i = 0; i < 6; ++i) {
      Request one = story(*model, 150);
      one.sampling.seed = i;
      one.end_of_text = EndOfText::kBanned;
      want.push_back(collect(roomy.require(std::move(one))).tokens());
    }
    EngineOptions tight = options();
    const SequenceMemory memory(model->cache_spec());
    tight.cache_bytes = 3 * memory.bytes({.tokens = 160});
    tight.headroom_tokens = 16;
    Engine engine(model, tight);
    std::vector<RequestHandle> handles;
    for (std::size_t i = 0; i < 6; ++i) {
      Request one = story(*model, 150);
      one.sampling.seed = i;
      one.end_of_text = EndOfText::kBanned;
      handles.push_back(engine.require(std::move(one)));
    }
    for (std::size_t i = 0; i < 6; ++i) CHECK(collect(std::move(handles[i])).tokens() == want[i]);
    if (std::string(name) == "tale-gemma4") CHECK(engine.stats().preemptions > 0);
    CHECK(engine.stats().cache_bytes == 0);
  }
}

TEST_CASE("guessing from the text's own past changes no token") {
  std::size_t accepted = 0;
  for (const char* name : kTaleNames) {
    CAPTURE(name);
    const auto model = tale(name);
    Engine engine(model, options());
    for (float temperature : {0.0F, 1.0F}) {
      Request request = plain(*model, "One fox. Two foxes. One fox. Two foxes. One fox. Two", 80);
      request.sampling.temperature = temperature;
      request.end_of_text = EndOfText::kBanned;
      const Collected want = collect(engine.require(request));
      request.draft_tokens = 6;
      request.draft_rule = DraftRule::kFixed;
      const Collected got = collect(engine.require(request));
      CHECK(got.tokens() == want.tokens());
      CHECK(got.choices[0].content() == want.choices[0].content());
      accepted += got.end().usage.accepted_tokens;
    }
  }
  CHECK(accepted > 0);
}

TEST_CASE("a request ends at the length limit, at the context's end, and when cancelled") {
  const auto model = tale("tale-gemma4");
  Engine engine(model, options());
  const Collected limited = collect(engine.require(story(*model, 3)));
  CHECK(limited.tokens().size() == 3);
  CHECK(limited.end().reason == FinishReason::kLength);
  CHECK(limited.timings->generated_tokens == 3);

  Request whole = story(*model, 3);
  whole.max_tokens.reset();
  whole.context = 40;
  whole.end_of_text = EndOfText::kBanned;
  const Collected filled = collect(engine.require(whole));
  CHECK(whole.prompt.size() + filled.tokens().size() == 40);

  RequestHandle handle = engine.require(story(*model, 900));
  Collected cancelled;
  while (auto event = handle.next()) {
    if (std::holds_alternative<TokenEvent>(*event)) handle.cancel();
    collect(cancelled, std::move(*event));
  }
  CHECK(cancelled.end().reason == FinishReason::kCancelled);
  CHECK(cancelled.timings.has_value());
}

TEST_CASE("no tokens asked for means that the prompt is computed and nothing more") {
  const auto model = tale("tale-qwen3_5");
  Engine engine(model, options());
  const Collected got = collect(engine.require(story(*model, 0)));
  CHECK(got.tokens().empty());
  CHECK(got.end().reason == FinishReason::kLength);
}

TEST_CASE("what can never run is refused with the numbers, nonsense is an error") {
  const auto model = tale("tale-gemma4");
  Engine engine(model, options());
  const std::size_t context = model->model().facts().context;
  const auto refusal = engine.submit(bare(std::vector<TokenId>(context, 200)));
  REQUIRE(std::holds_alternative<Refusal>(refusal));
  CHECK(std::get<Refusal>(refusal).kind == RefusalKind::kContextLength);
  CHECK(std::get<Refusal>(refusal).message.find(std::to_string(context)) != std::string::npos);
  Request too_long = bare({200});
  too_long.max_tokens = context;
  CHECK(std::get<Refusal>(engine.submit(too_long)).kind == RefusalKind::kContextLength);

  EngineOptions small = options();
  small.cache_bytes = 1 << 16;
  Engine tiny(model, small);
  CHECK(std::get<Refusal>(tiny.submit(story(*model, 500))).kind == RefusalKind::kMemory);

  CHECK_THROWS_AS(engine.submit(bare({})), Error);
  CHECK_THROWS_AS(engine.submit(bare({-1})), Error);
  CHECK_THROWS_AS(engine.submit(bare({1 << 20})), Error);
  Request empty_stop = bare({200});
  empty_stop.stop = {""};
  CHECK_THROWS_AS(engine.submit(empty_stop), Error);
}

TEST_CASE("a full queue is told at once, and a draining engine takes nothing") {
  const auto model = tale("tale-gemma4");
  EngineOptions narrow = options(1);
  narrow.max_queue = 2;
  Engine engine(model, narrow);
  std::vector<RequestHandle> handles;
  std::size_t refused = 0;
  for (int i = 0; i < 12; ++i) {
    auto result = engine.submit(story(*model, 60));
    if (auto* handle = std::get_if<RequestHandle>(&result))
      handles.push_back(std::move(*handle));
    else
      refused += std::get<Refusal>(result).kind == RefusalKind::kQueueFull;
  }
  CHECK(refused > 0);
  CHECK(handles.size() >= 2);
  CHECK(engine.drain(std::chrono::seconds(60)));
  CHECK(std::get<Refusal>(engine.submit(story(*model, 1))).kind == RefusalKind::kDraining);
  for (RequestHandle& handle : handles) CHECK(collect(std::move(handle)).tokens().size() == 60);
}

TEST_CASE("requests that find free places do not fill the queue") {
  const auto model = tale("tale-gemma4");
  EngineOptions narrow = options(3);
  narrow.max_queue = 1;
  for (int repeat = 0; repeat < 20; ++repeat) {
    Engine engine(model, narrow);
    std::vector<RequestHandle> handles;
    for (int i = 0; i < 4; ++i) {
      auto result = engine.submit(story(*model, 200));
      REQUIRE(std::holds_alternative<RequestHandle>(result));
      handles.push_back(std::move(std::get<RequestHandle>(result)));
    }
    CHECK(std::holds_alternative<Refusal>(engine.submit(story(*model, 200))));
  }
}

TEST_CASE("thoughts can be ended while they are thought") {
  const auto model = tale("tale-qwen3_5");
  EngineOptions small = options();
  small.event_capacity = 8;  // so that the answer waits for its reader
  Engine engine(model, small);
  text::ChatInput input{.thinking = text::ThinkingSwitch::kOn};
  input.messages.push_back({{"role", "user"}, {"content", "Tell me a story."}});
  Request request = story(*model, 300);
  request.prompt = model->text().encode_chat(input);
  request.form = AnswerForm::kChat;
  request.stop_ids = {};
  request.end_of_text = EndOfText::kBanned;
  request.sampling.logit_bias = {{model->tokenizer().encode("</think>").front(), -1e9F}};
  RequestHandle handle = engine.require(std::move(request));
  handle.end_reasoning();
  const Collected got = collect(std::move(handle));
  CHECK(got.end().usage.reasoning_tokens < 30);
  CHECK(got.end().usage.generated_tokens == 300);
  CHECK_FALSE(got.choices[0].content().empty());
}

TEST_CASE("an overdue request fails, in the queue and while running") {
  const auto model = tale("tale-gemma4");
  Engine engine(model, options(1));
  Request long_one = story(*model, 900);
  long_one.end_of_text = EndOfText::kBanned;
  RequestHandle running = engine.require(long_one);
  REQUIRE(running.next().has_value());
  Request impatient = story(*model, 5);
  impatient.queue_timeout = std::chrono::milliseconds(1);
  CHECK(collect(engine.require(std::move(impatient))).failure->kind == FailureKind::kQueueTimeout);
  running.cancel();
  collect(std::move(running));
  long_one.timeout = std::chrono::milliseconds(20);
  CHECK(collect(engine.require(std::move(long_one))).failure->kind == FailureKind::kDeadline);
}

TEST_CASE("a reader that does not read stops its own request and nobody else's") {
  const auto model = tale("tale-gemma4");
  EngineOptions small = options();
  small.event_capacity = 8;
  Engine engine(model, small);
  Request lazy = story(*model, 100);
  lazy.end_of_text = EndOfText::kBanned;
  RequestHandle slow = engine.require(lazy);
  CHECK(collect(engine.require(lazy)).tokens().size() == 100);
  CHECK(engine.stats().running == 1);
  CHECK(engine.stats().generated_tokens < 200);
  CHECK(collect(std::move(slow)).tokens().size() == 100);
}

TEST_CASE("a choice whose reader does not read holds up nobody behind it") {
  const auto model = tale("tale-gemma4");
  Request lazy = story(*model, 7);
  lazy.end_of_text = EndOfText::kBanned;
  std::size_t events = 0;
  {
    Engine alone(model, options());
    RequestHandle handle = alone.require(lazy);
    while (handle.next()) ++events;
  }
  EngineOptions small = options(1);
  small.event_capacity = events - 1;  // full when its first choice has ended
  Engine engine(model, small);
  lazy.choices = 2;
  RequestHandle slow = engine.require(lazy);
  CHECK(collect(engine.require(story(*model, 20))).tokens().size() == 20);
  CHECK(engine.stats().waiting == 1);
  CHECK(collect(std::move(slow)).choices.size() == 2);
}

TEST_CASE("guesses take no memory that their sequence needs to end") {
  const auto model = tale("tale-qwen3_5");
  const SequenceMemory memory(model->cache_spec());
  std::size_t limit = 64;
  while (memory.bytes({.tokens = limit}) < memory.bytes({.tokens = 64, .draft_rows = 6})) limit += 64;
  Request guessing = story(*model, 0);
  guessing.max_tokens = limit - guessing.prompt.size();
  guessing.end_of_text = EndOfText::kBanned;
  const Collected want = collect(Engine(model, options()).require(guessing));
  guessing.draft_tokens = 5;
  guessing.draft_rule = DraftRule::kFixed;
  guessing.draft_source = [](std::span<const TokenId>, std::size_t count) {
    return std::vector<TokenId>(count, 20);
  };
  EngineOptions tight = options();
  tight.cache_bytes = memory.bytes({.tokens = limit});
  tight.headroom_tokens = 8;
  Engine engine(model, tight);
  CHECK(collect(engine.require(guessing)).tokens() == want.tokens());
  CHECK(engine.stats().preemptions == 0);
}

TEST_CASE("choices share a prompt and differ; each is what it would be alone") {
  for (const char* name : kTaleNames) {
    CAPTURE(name);
    const auto model = tale(name);
    Engine engine(model, options(3));
    Request request = story(*model, 20);
    request.choices = 4;
    const Collected got = collect(engine.require(request));
    REQUIRE(got.choices.size() == 4);
    CHECK(got.timings->generated_tokens == 4 * 20);
    request.choices = 1;
    CHECK(collect(engine.require(request)).tokens() == got.tokens());
    for (std::size_t a = 0; a < 4; ++a)
      for (std::size_t b = a + 1; b < 4; ++b) CHECK(got.choices[a].tokens != got.choices[b].tokens);
  }
}

TEST_CASE("log-probabilities change no token, agree with greedy choices and score the prompt") {
  for (const char* name : kTaleNames) {
    CAPTURE(name);
    const auto model = tale(name);
    Engine engine(model, options());
    Request request = story(*model, 12);
    request.sampling.temperature = 0;
    const Collected plain_run = collect(engine.require(request));
    request.top_logprobs = 3;
    request.prompt_logprobs = 2;
    request.draft_tokens = 4;
    const Collected got = collect(engine.require(request));
    CHECK(got.tokens() == plain_run.tokens());
    REQUIRE(got.choices[0].logprobs.size() == 12);
    for (std::size_t i = 0; i < 12; ++i) {
      const LogprobEntry& entry = got.choices[0].logprobs[i];
      REQUIRE(entry.top.size() == 3);
      CHECK(entry.token.id == got.tokens()[i]);
      CHECK(entry.top[0].id == entry.token.id);
      CHECK(entry.top[0].logprob == entry.token.logprob);
      CHECK(entry.top[0].logprob >= entry.top[1].logprob);
      CHECK(entry.top[2].logprob <= entry.top[1].logprob);
      CHECK(entry.token.logprob <= 0);
    }
    REQUIRE(got.prompt_logprobs.size() == request.prompt.size() - 1);
    for (std::size_t i = 1; i < request.prompt.size(); ++i)
      CHECK(got.prompt_logprobs[i - 1].token.id == request.prompt[i]);
  }
}

TEST_CASE("stop ids, banned ends and a minimal length do what they say") {
  const auto model = tale("tale-gemma4");
  Engine engine(model, options());
  Request request = story(*model, 30);
  const Collected free_run = collect(engine.require(request));
  Request stopped = request;
  stopped.stop_ids = {free_run.tokens()[10]};
  const Collected got = collect(engine.require(stopped));
  CHECK(got.end().reason == FinishReason::kStop);
  CHECK(got.end().stop_id == free_run.tokens()[10]);
  CHECK(got.tokens().size() <= 10);
  stopped.min_tokens = 20;
  CHECK(collect(engine.require(stopped)).tokens().size() >= 20);
}

}  // namespace lanner::engine
