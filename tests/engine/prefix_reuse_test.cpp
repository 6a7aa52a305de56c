// SPDX-License-Identifier: MIT
#include "engine/prefix_reuse.h"

#include <doctest/doctest.h>

#include <string>

#include "engine/chat_prompt.h"
#include "engine/collected.h"
#include "engine/sequence_memory.h"
#include "engine/test_models.h"

namespace lanner::engine {
namespace {

using test::collect;
using test::Collected;
using test::kTaleNames;
using test::tale;

EngineOptions options() { return {}; }

text::ChatInput ask(text::ThinkingSwitch thinking) {
  text::ChatInput input{.thinking = thinking};
  std::string system = "You tell fairy tales. ";
  for (int i = 0; i < 12; ++i) system += "Rule " + std::to_string(i) + ": be kind to foxes and hens. ";
  input.messages.push_back({{"role", "system"}, {"content", system}});
  input.messages.push_back(
      {{"role", "user"}, {"content", "Tell me about a fox who lost his hat in the woods."}});
  return input;
}

Request request_for(const LoadedModel& model, const text::ChatInput& input, std::size_t tokens) {
  ChatPrompt prompt = encode_chat_prompt(model.text(), input);
  return {.prompt = std::move(prompt.ids),
          .sampling = {.temperature = 0},
          .max_tokens = tokens,
          .checkpoints = std::move(prompt.checkpoints)};
}

}  // namespace

TEST_CASE("checkpoints lie behind the system part and behind the last user turn") {
  for (const char* name : kTaleNames) {
    CAPTURE(name);
    const auto model = tale(name);
    const ChatPrompt prompt = encode_chat_prompt(model->text(), ask(text::ThinkingSwitch::kOn));
    REQUIRE(prompt.checkpoints.size() == 2);
    const auto text_of = [&](std::size_t index) {
      return model->tokenizer().decode(std::span(prompt.ids).first(prompt.checkpoints[index].tokens));
    };
    CHECK(prompt.checkpoints[0].kind == cache::CheckpointClass::kSystem);
    CHECK(text_of(0).find("Rule 11") != std::string::npos);
    CHECK(text_of(0).find("lost his hat") == std::string::npos);
    CHECK(prompt.checkpoints[1].kind == cache::CheckpointClass::kUser);
    CHECK(text_of(1).find("in the woods.") != std::string::npos);
    CHECK(prompt.checkpoints[1].tokens < prompt.ids.size());
  }
}

TEST_CASE("a second turn computes only what is new, with the words of a cold start") {
  for (const char* name : kTaleNames)
    for (const auto thinking : {text::ThinkingSwitch::kOn, text::ThinkingSwitch::kOff}) {
      CAPTURE(name);
      CAPTURE(static_cast<int>(thinking));
      const auto model = tale(name);
      Engine engine(model, options());
      text::ChatInput input = ask(thinking);
      Request first = request_for(*model, input, 60);
      const std::size_t asked = first.checkpoints[1].tokens;
      const Collected answer = collect(engine.require(std::move(first)));
      CHECK(answer.timings->cached_tokens == 0);
      // Reasoning is no part of the history.
      input.messages.push_back({{"role", "assistant"}, {"content", answer.choices[0].content()}});
      input.messages.push_back({{"role", "user"}, {"content", "And what became of the hat?"}});
      const Request second = request_for(*model, input, 30);
      const Collected warm = collect(engine.require(second));
      CHECK(warm.timings->cached_tokens >= asked);
      CHECK(engine.stats().cached_prompt_tokens >= asked);
      Engine fresh(model, options());
      const Collected cold = collect(fresh.require(second));
      CHECK(cold.timings->cached_tokens == 0);
      CHECK(warm.tokens() == cold.tokens());
      // Another first question shares the system part.
      text::ChatInput other = ask(thinking);
      other.messages[1]["content"] = "Who is the cleverest hen?";
      const Request third = request_for(*model, other, 10);
      CHECK(collect(engine.require(third)).timings->cached_tokens >= third.checkpoints[0].tokens);
    }
}

TEST_CASE("choices share the prompt's memory, and prefixes give way to running requests") {
  for (const char* name : kTaleNames) {
    CAPTURE(name);
    const auto model = tale(name);
    EngineOptions tight = options();
    const SequenceMemory memory(model->cache_spec());
    tight.cache_bytes = 3 * memory.bytes({.tokens = 320});
    tight.headroom_tokens = 16;
    Engine engine(model, tight);
    for (std::uint64_t round = 0; round < 6; ++round) {
      Request request{.prompt = std::vector<TokenId>(200, TokenId(300 + round)),
                      .sampling = {.temperature = 1, .seed = round},
                      .choices = 3,
                      .max_tokens = 100,
                      .end_of_text = EndOfText::kBanned};
      const Collected got = collect(engine.require(request));
      REQUIRE(got.choices.size() == 3);
      for (const auto& choice : got.choices) CHECK(choice.tokens.size() == 100);
      CHECK(engine.stats().peak_bytes <= *tight.cache_bytes);
    }
    CHECK(engine.stats().prefixes.evictions > 0);
    // One prompt per request was computed, not three.
    CHECK(engine.stats().computed_prompt_tokens < 6 * 2 * 200);
  }
}

}  // namespace lanner::engine
