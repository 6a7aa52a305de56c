// SPDX-License-Identifier: MIT
// Grammars and thinking: reasoning is free, the grammar holds from the first token of the content on.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "engine/chat_prompt.h"
#include "engine/collected.h"
#include "engine/engine.h"
#include "engine/grammar_constraint.h"
#include "engine/test_grammars.h"
#include "engine/test_models.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/tool_grammar.h"

namespace lanner::engine {
namespace {

using nlohmann::ordered_json;
using test::collect;
using test::Collected;
using test::kTaleNames;
using test::tale;
using text::ThinkingSwitch;

const ordered_json kSchema = ordered_json::parse(
    R"({"type": "object", "properties": {"answer": {"type": "integer", "minimum": 0, "maximum": 99}},
        "required": ["answer"], "additionalProperties": false})");
const ordered_json kTools = ordered_json::parse(
    R"([{"type": "function", "function": {"name": "count", "parameters": {"type": "object",
        "properties": {"what": {"enum": ["hens", "foxes"]}}, "required": ["what"],
        "additionalProperties": false}}}])");

/// The markers of a family's answers.
struct Marks {
  explicit Marks(const LoadedModel& model) {
    const auto id = [&](const char* gemma, const char* qwen) {
      const auto found = model.tokenizer().token_id(gemma);
      return found ? *found : model.tokenizer().token_id(qwen).value();
    };
    open = id("<|channel>", "<think>");
    close = id("<channel|>", "</think>");
    call = id("<|tool_call>", "<tool_call>");
  }
  TokenId open, close, call;
};

bool is_gemma(const LoadedModel& model) { return model.model().facts().family == "Gemma 4"; }

Request ask(const LoadedModel& model, ThinkingSwitch thinking) {
  text::ChatInput input{.thinking = thinking};
  input.messages.push_back({{"role", "user"}, {"content", "How many hens does the fox see?"}});
  return {.prompt = encode_chat_prompt(model.text(), input).ids,
          .sampling = {.temperature = 1, .seed = 4},
          .max_tokens = 160};
}

ConstraintFactory held_to(const LoadedModel& model, text::grammar::GrammarSource source) {
  auto grammar = std::make_shared<const text::grammar::Grammar>(
      std::move(source), test::grammar_vocabulary(model, model.tokenizer().vocab_size()));
  return [grammar, &model] { return std::make_unique<GrammarConstraint>(grammar, model.tokenizer()); };
}

ConstraintFactory held_to_schema(const LoadedModel& model) {
  return held_to(model, text::grammar::json_schema_grammar(kSchema));
}

void check_answer(const Collected& got) {
  REQUIRE_MESSAGE(!got.failure, got.failure->message);
  CHECK(got.end().reason == FinishReason::kStop);
  const std::string content = got.choices[0].content();
  CAPTURE(content);
  const auto answer = ordered_json::parse(content, nullptr, false);
  REQUIRE(answer.is_object());
  CHECK(answer.size() == 1);
  CHECK(answer["answer"].is_number_integer());
}

std::string reasoning_of(const Collected& got) {
  return text::collect_output(got.choices.at(0).text).reasoning;
}

template <typename Check>
void on_both_families(Check&& check) {
  for (const char* name : kTaleNames) {
    CAPTURE(name);
    const auto model = tale(name);
    Engine engine(model, {});
    check(*model, engine, Marks(*model));
  }
}

}  // namespace

TEST_CASE("is_19: a schema leaves the thought free and holds the answer, once, with and without thinking") {
  on_both_families([](const LoadedModel& model, Engine& engine, const Marks& marks) {
    for (const ThinkingSwitch thinking : {ThinkingSwitch::kOn, ThinkingSwitch::kOff})
      for (const std::size_t guesses : {0U, 4U}) {
        const bool thinks = thinking == ThinkingSwitch::kOn;
        CAPTURE(thinks);
        Request request = ask(model, thinking);
        request.constraint = held_to_schema(model);
        request.draft_tokens = guesses;
        request.draft_rule = DraftRule::kFixed;
        // A model that opens a thought whenever it may, and would rather end or call than answer.
        request.sampling.logit_bias = {{marks.open, 50.0F}, {marks.call, 90.0F}};
        for (const TokenId end : model.defaults().stop_ids) request.sampling.logit_bias[end] = 60;
        request.thinking_budget = 12;
        const Collected got = collect(engine.require(request));
        check_answer(got);
        CHECK(got.end().usage.reasoning_tokens == (thinks ? got.end().usage.reasoning_tokens : 0));
        CHECK((got.end().usage.reasoning_tokens >= 12) == thinks);
        // The thought may also end by itself.
        request.sampling.logit_bias[marks.close] = 200;
        request.thinking_budget.reset();
        check_answer(collect(engine.require(request)));
      }
  });
}

TEST_CASE("is_19: without a thought, thinking or not, the answer is held from its first token on") {
  on_both_families([](const LoadedModel& model, Engine& engine, const Marks& marks) {
    Request request = ask(model, ThinkingSwitch::kOff);
    request.constraint = held_to_schema(model);
    request.sampling.logit_bias = {{marks.open, 1000.0F}};
    const Collected got = collect(engine.require(request));
    check_answer(got);
    CHECK(reasoning_of(got).empty());
    if (!is_gemma(model)) return;  // Qwen's prompt opens the thought when thinking is on
    request = ask(model, ThinkingSwitch::kOn);
    request.constraint = held_to_schema(model);
    request.sampling.logit_bias = {{marks.open, -1000.0F}};
    check_answer(collect(engine.require(request)));
    request.sampling.logit_bias = {{marks.open, 1000.0F}};
    request.thinking_budget = 0;
    const Collected unthinking = collect(engine.require(request));
    check_answer(unthinking);
    CHECK(reasoning_of(unthinking).empty());
  });
}

TEST_CASE("is_19: a length that ends inside the thought leaves the content empty") {
  on_both_families([](const LoadedModel& model, Engine& engine, const Marks& marks) {
    Request request = ask(model, ThinkingSwitch::kOn);
    request.constraint = held_to_schema(model);
    request.sampling.logit_bias = {{marks.open, 50.0F}, {marks.close, -1000.0F}};
    request.max_tokens = 9;
    const Collected got = collect(engine.require(request));
    CHECK(got.end().reason == FinishReason::kLength);
    CHECK(got.choices[0].content().empty());
  });
}

TEST_CASE("is_18: a required call comes behind the thought or ends it, with arguments of its schema") {
  on_both_families([](const LoadedModel& model, Engine& engine, const Marks& marks) {
    const auto format =
        text::detect_output_format([&](std::string_view text) { return model.tokenizer().token_id(text); });
    const auto vocabulary = test::grammar_vocabulary(model, model.tokenizer().vocab_size());
    for (const ThinkingSwitch thinking : {ThinkingSwitch::kOn, ThinkingSwitch::kOff})
      for (const float eagerness : {0.0F, 100.0F}) {  // to call from inside the thought
        CAPTURE(eagerness);
        Request request = ask(model, thinking);
        request.tools = kTools;
        request.constraint = held_to(
            model, text::grammar::tool_call_grammar(
                       *format, kTools,
                       {.use = text::grammar::ToolUse::kRequired, .calls = text::grammar::ToolCalls::kOne},
                       *vocabulary));
        request.sampling.logit_bias = {{marks.open, 50.0F}, {marks.call, eagerness}};
        request.thinking_budget = 20;
        const Collected got = collect(engine.require(request));
        REQUIRE_MESSAGE(!got.failure, got.failure->message);
        const auto output = text::collect_output(got.choices[0].text);
        CHECK(got.end().reason == FinishReason::kStop);
        REQUIRE(output.tool_calls.size() == 1);
        CHECK(output.tool_calls[0].name == "count");
        const auto arguments = ordered_json::parse(output.tool_calls[0].arguments);
        CHECK((arguments["what"] == "hens" || arguments["what"] == "foxes"));
        CHECK(output.content.empty());
        if (eagerness > 50) CHECK(got.end().usage.reasoning_tokens <= 2);
      }
  });
}

TEST_CASE("text without a choice is written in the tokenizer's tokens and asks the model little") {
  const std::string key = "what the fox saw beyond the old stone bridge that evening";
  on_both_families([&](const LoadedModel& model, Engine& engine, const Marks&) {
    Request request = ask(model, ThinkingSwitch::kOff);
    request.constraint = held_to(
        model, text::grammar::json_schema_grammar({{"type", "object"},
                                                   {"properties", {{key, {{"enum", {"hens", "a lantern"}}}}}},
                                                   {"required", {key}},
                                                   {"additionalProperties", false}}));
    collect(engine.require(request));  // now the prompt is known
    const auto steps_before = engine.stats().steps;
    const Collected got = collect(engine.require(request));
    const auto steps = engine.stats().steps - steps_before;
    REQUIRE_MESSAGE(!got.failure, got.failure->message);
    CHECK(got.end().reason == FinishReason::kStop);
    const auto answer = ordered_json::parse(got.choices[0].content());
    CHECK((answer[key] == "hens" || answer[key] == "a lantern"));

    const auto canonical = model.tokenizer().encode(key);
    const auto inner = std::span(canonical).subspan(1, canonical.size() - 2);
    CHECK(!std::ranges::search(got.tokens(), inner).empty());
    CHECK(steps + inner.size() <= got.tokens().size() + 2);

    request.top_logprobs = 2;
    const Collected scored = collect(engine.require(request));
    CHECK(scored.tokens() == got.tokens());
    CHECK(scored.choices[0].logprobs.size() == got.tokens().size());
    request.top_logprobs.reset();
    request.draft_tokens = 4;
    request.draft_rule = DraftRule::kFixed;
    CHECK(collect(engine.require(request)).tokens() == got.tokens());
  });
}

TEST_CASE("a thinking budget closes the thought as the model would, and the answer goes on") {
  on_both_families([](const LoadedModel& model, Engine& engine, const Marks& marks) {
    for (const std::size_t budget : {0U, 1U, 7U})
      for (const bool scored : {false, true}) {
        CAPTURE(budget);
        Request request = ask(model, ThinkingSwitch::kOn);
        if (is_gemma(model))  // Qwen's prompt opens the thought
          for (const TokenId id : model.tokenizer().encode("<|channel>thought\n"))
            request.prompt.push_back(id);
        request.sampling.logit_bias = {{marks.open, -1000.0F}, {marks.close, -1000.0F}};
        request.end_of_text = EndOfText::kBanned;
        request.thinking_budget = budget;
        request.max_tokens = budget + 20;
        if (scored) request.top_logprobs = 0;
        const Collected got = collect(engine.require(request));
        const std::vector<TokenId>& tokens = got.tokens();
        const auto closed = std::ranges::find(tokens, marks.close);
        REQUIRE(closed != tokens.end());
        // What closes Qwen's thought begins with a newline.
        CHECK(static_cast<std::size_t>(closed - tokens.begin()) == budget + (is_gemma(model) ? 0 : 1));
        CHECK(tokens.size() == budget + 20);
        CHECK(!got.choices[0].content().empty());
      }
  });
}

}  // namespace lanner::engine
