// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <filesystem>
#include <lanner/lanner.hpp>
#include <thread>

#include "adapter_recipe.h"
#include "engine/loaded_model.h"
#include "io/temporary_folder.h"

namespace lanner::api {
namespace {

std::filesystem::path tale(const char* name) { return std::filesystem::path(LANNER_MODELS_DIR) / name; }

Model& shared_tale() {
  static Model model(tale("tale-gemma4"), {.threads = 2});
  return model;
}

const std::vector<Message> kQuestion = {{"user", "Tell me a story."}};

ErrorKind kind_of(const auto& body) {
  try {
    body();
  } catch (const Error& error) {
    CHECK_FALSE(std::string_view(error.what()).empty());
    return error.kind();
  }
  FAIL("nothing was thrown");
  return ErrorKind::kInternal;
}

}  // namespace

TEST_CASE("the tokens of an answer, joined, are its content, and the same seed gives it again") {
  for (const char* name : {"tale-gemma4", "tale-qwen3_5"}) {
    CAPTURE(name);
    Model model(tale(name), {.threads = 2});
    const GenerateOptions options = {.temperature = 1, .seed = 3, .max_tokens = 30, .thinking = false};
    Answer answer = model.chat(kQuestion, options);
    std::string content;
    while (const auto token = answer.next())
      if (token->part == Part::kContent) content += token->text;
    CHECK_FALSE(content.empty());
    CHECK(answer.result().content == content);
    CHECK(answer.result().generated_tokens <= 30);
    CHECK(model.chat(kQuestion, options).result().content == content);
    CHECK(model.stats().generated_tokens == 2 * answer.result().generated_tokens);
  }
}

TEST_CASE("an adapter is mounted, chosen by requests and unmounted") {
  Model& model = shared_tale();
  const io::TemporaryFolder folder;
  const engine::LoadedModel loaded(tale("tale-gemma4"), {});
  test::write_adapter(folder.path() / "a", {}, loaded.model().facts().targets);
  GenerateOptions options = {.temperature = 0, .max_tokens = 12, .thinking = false};
  const std::string base = model.chat(kQuestion, options).result().content;
  options.adapter = "a";
  CHECK(kind_of([&] { model.chat(kQuestion, options); }) == ErrorKind::kNotFound);
  model.mount_adapter("a", folder.path() / "a");
  CHECK(model.chat(kQuestion, options).result().content != base);
  CHECK(kind_of([&] { model.mount_adapter("a", folder.path() / "a", 2); }) == ErrorKind::kInvalidArgument);
  options.adapter = "a@0";
  CHECK(model.chat(kQuestion, options).result().content == base);
  CHECK(model.unmount_adapter("a"));
  CHECK_FALSE(model.unmount_adapter("a"));
  options.adapter = "?";
  CHECK(kind_of([&] { model.chat(kQuestion, options); }) == ErrorKind::kInvalidArgument);
}

TEST_CASE("the next turn of a chat only reads what is new") {
  Model& model = shared_tale();
  std::vector<Message> messages = kQuestion;
  messages.push_back({"assistant", model.chat(messages, {.max_tokens = 60}).result().content});
  messages.push_back({"user", "And then?"});
  const Result result = model.chat(messages, {.max_tokens = 5}).result();
  CHECK(result.cached_tokens > 0);
  CHECK(result.cached_tokens < result.prompt_tokens);
}

TEST_CASE("an answer has the format that was asked for") {
  Model& model = shared_tale();
  const auto content = [&](Format format, std::string text, std::vector<std::string> choices = {}) {
    return model
        .chat(kQuestion, {.temperature = 1,
                          .seed = 5,
                          .max_tokens = 300,
                          .thinking = false,
                          .format = format,
                          .format_text = std::move(text),
                          .choices = std::move(choices)})
        .result()
        .content;
  };
  const std::string schema =
      R"({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false})";
  CHECK(content(Format::kJsonSchema, schema).find("\"n\"") != std::string::npos);
  CHECK(content(Format::kJsonObject, {}).front() == '{');
  CHECK(content(Format::kRegex, "(ab){3}") == "ababab");
  CHECK(content(Format::kGbnf, "root ::= \"x\"{4}") == "xxxx");
  CHECK(content(Format::kLark, "start: \"y\"~4") == "yyyy");
  const std::string choice = content(Format::kChoice, {}, {"yes", "no"});
  CHECK((choice == "yes" || choice == "no"));
  CHECK(kind_of([&] { content(Format::kRegex, {}); }) == ErrorKind::kInvalidArgument);
  CHECK(kind_of([&] { content(Format::kRegex, "("); }) == ErrorKind::kInvalidArgument);
  CHECK(kind_of([&] { content(Format::kJsonSchema, "{"); }) == ErrorKind::kInvalidArgument);
  CHECK(kind_of([&] { content(Format::kChoice, {}); }) == ErrorKind::kInvalidArgument);
  CHECK(kind_of([&] { content(Format::kFree, "x"); }) == ErrorKind::kInvalidArgument);
}

TEST_CASE("tools are called when they must be, and the conversation goes on with what they returned") {
  const std::string tools =
      R"([{"type": "function", "function": {"name": "add", "parameters": {"type": "object",
          "properties": {"a": {"type": "integer", "maximum": 99}}, "required": ["a"], "additionalProperties": false}}}])";
  for (const char* name : {"tale-gemma4", "tale-qwen3_5"}) {
    CAPTURE(name);
    Model model(tale(name), {.threads = 2});
    const GenerateOptions options = {
        .seed = 1, .max_tokens = 200, .thinking = false, .tools = tools, .tool_use = ToolUse::kRequired};
    const Result result = model.chat(kQuestion, options).result();
    REQUIRE_FALSE(result.tool_calls.empty());
    CHECK(result.tool_calls[0].name == "add");
    CHECK(result.tool_calls[0].arguments.find("\"a\"") != std::string::npos);
    std::vector<Message> messages = kQuestion;
    messages.push_back({"assistant", "", {result.tool_calls[0]}});
    messages.push_back({"tool", "12"});
    CHECK(
        model.chat(messages, {.max_tokens = 4, .thinking = false, .tools = tools}).result().generated_tokens >
        0);
    CHECK(kind_of([&] { model.chat(kQuestion, {.tool_use = ToolUse::kRequired}); }) ==
          ErrorKind::kInvalidArgument);
    CHECK(kind_of([&] { model.chat(kQuestion, {.tools = "{}"}); }) == ErrorKind::kInvalidArgument);
    CHECK(kind_of([&] { model.complete("Once", {.tools = tools}); }) == ErrorKind::kInvalidArgument);
  }
}

TEST_CASE("log-probabilities come with the tokens when they are asked for") {
  Model& model = shared_tale();
  Answer answer = model.complete("Once upon a", {.temperature = 0, .max_tokens = 8, .logprobs = 2});
  std::size_t tokens = 0;
  while (const auto token = answer.next()) {
    if (token->id < 0) continue;
    ++tokens;
    REQUIRE(token->logprob.has_value());
    REQUIRE(token->likeliest.size() == 2);
    CHECK(token->likeliest[0].id == token->id);
    CHECK(token->likeliest[0].logprob == *token->logprob);
    CHECK(token->likeliest[0].logprob >= token->likeliest[1].logprob);
  }
  CHECK(tokens > 0);
  CHECK(kind_of([&] { model.complete("Once", {.logprobs = 21}); }) == ErrorKind::kInvalidArgument);
}

TEST_CASE("answers of many threads do not disturb each other, and one can be cancelled") {
  Model& model = shared_tale();
  const auto ask = [&](std::uint64_t seed) {
    return model.complete("Once upon a time", {.seed = seed, .max_tokens = 25}).result().content;
  };
  std::vector<std::string> alone;
  for (std::uint64_t seed = 0; seed < 4; ++seed) alone.push_back(ask(seed));
  Answer endless = model.complete("Once upon a time", {.seed = 9});
  CHECK(endless.next());
  std::vector<std::string> together(4);
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t seed = 0; seed < 4; ++seed)
      threads.emplace_back([&, seed] { together[seed] = ask(seed); });
  }
  CHECK(together == alone);
  endless.cancel();
  CHECK_FALSE(endless.result().content.empty());
}

TEST_CASE("what cannot be done is an error that says what") {
  CHECK(kind_of([] { Model("/nowhere/at/all"); }) == ErrorKind::kNotFound);
  CHECK(kind_of([] { Model(tale("tale-gemma4"), {.kv_type = "q5"}); }) == ErrorKind::kUnsupported);
  CHECK(kind_of([] { Model(tale("tale-gemma4"), {.threads = -1}); }) == ErrorKind::kInvalidArgument);
  CHECK(kind_of([] { Model(tale("tale-gemma4"), {.max_sequences = 0}); }) == ErrorKind::kInvalidArgument);
  Model& model = shared_tale();
  CHECK(kind_of([&] { model.chat({}); }) == ErrorKind::kInvalidArgument);
  CHECK(kind_of([&] { model.chat(kQuestion, {.temperature = -2.0F}); }) == ErrorKind::kInvalidArgument);
  CHECK(kind_of([&] { model.chat(kQuestion, {.stop = {""}}); }) == ErrorKind::kInvalidArgument);
  CHECK(kind_of([&] { model.complete("x", {.max_tokens = SIZE_MAX / 2}); }) == ErrorKind::kInvalidArgument);
  CHECK(kind_of([&] { model.complete("x", {.timeout = std::chrono::milliseconds(1)}).result(); }) ==
        ErrorKind::kTimeout);
  Model tiny(tale("tale-gemma4"), {.threads = 1, .cache_bytes = 1000});
  CHECK(kind_of([&] { tiny.complete("x", {.max_tokens = 5}); }) == ErrorKind::kOutOfMemory);
}

TEST_CASE("text becomes token ids and text again") {
  const std::vector<std::int32_t> ids = shared_tale().tokenize("the fox");
  CHECK(ids.size() >= 2);
  CHECK(shared_tale().detokenize(ids).ends_with("the fox"));
  CHECK(shared_tale().context() > 0);
  CHECK_FALSE(version().empty());
}

}  // namespace lanner::api
