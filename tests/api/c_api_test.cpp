// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <lanner/lanner.h>

#include <filesystem>
#include <string>

extern "C" int default_answers_are_unlimited(void);

namespace {

const std::string kTale = std::filesystem::path(LANNER_MODELS_DIR) / "tale-gemma4";

int stop_after_three(const lanner_token* token, void* user) {
  CHECK(token->text[token->text_size] == '\0');
  return ++*static_cast<int*>(user) >= 3;
}

}  // namespace

TEST_CASE("C: tokens come one by one, or to a callback that may stop the answer") {
  lanner_model* model = lanner_load(kTale.c_str(), nullptr);
  REQUIRE(model != nullptr);
  CHECK(lanner_context(model) > 0);
  lanner_generate_options options = lanner_generate_defaults();
  options.max_tokens = 12;
  options.seed = 4;
  const lanner_message message = {
      .role = "user", .content = "Tell me a story.", .tool_calls = nullptr, .tool_call_count = 0};
  lanner_answer* answer = lanner_chat(model, &message, 1, &options);
  REQUIRE(answer != nullptr);
  lanner_token token;
  std::size_t bytes = 0;
  while (lanner_next(answer, &token) == LANNER_OK) bytes += token.text_size;
  CHECK(lanner_last_status() == LANNER_OK);
  CHECK(bytes > 0);
  lanner_result result;
  CHECK(lanner_get_result(answer, &result) == LANNER_OK);
  CHECK(result.finish == LANNER_LENGTH);
  CHECK(result.generated_tokens == 12);
  lanner_answer_free(answer);

  int seen = 0;
  options.max_tokens = -1;
  answer = lanner_complete(model, "Once upon a time", &options);
  REQUIRE(answer != nullptr);
  CHECK(lanner_read(answer, stop_after_three, &seen) == LANNER_OK);
  CHECK(seen >= 3);
  CHECK(lanner_get_result(answer, &result) == LANNER_OK);
  CHECK(result.finish == LANNER_CANCELLED);
  lanner_answer_free(answer);
  CHECK(lanner_get_stats(model).generated_tokens >= 15);
  lanner_free(model);
}

TEST_CASE("C: an answer has the format that was asked for, with log-probabilities, and calls tools") {
  lanner_model* model = lanner_load(kTale.c_str(), nullptr);
  REQUIRE(model != nullptr);
  lanner_generate_options options = lanner_generate_defaults();
  options.max_tokens = 40;
  options.thinking = 0;
  options.logprobs = 3;
  options.format = LANNER_CHOICE;
  const char* choices[] = {"red", "green"};
  options.choices = choices;
  options.choice_count = 2;
  lanner_answer* answer = lanner_complete(model, "My favourite colour is ", &options);
  REQUIRE(answer != nullptr);
  lanner_token token;
  std::string text;
  while (lanner_next(answer, &token) == LANNER_OK) {
    text += token.text;
    if (token.id < 0) continue;
    CHECK(token.has_logprob != 0);
    CHECK(token.logprob <= 0);
    REQUIRE(token.likeliest_count == 3);
    CHECK(token.likeliest[0].logprob >= token.likeliest[1].logprob);
    CHECK(token.likeliest[0].logprob >= token.logprob);
  }
  CHECK((text == "red" || text == "green"));
  lanner_answer_free(answer);

  options = lanner_generate_defaults();
  options.thinking = 0;
  options.max_tokens = 200;
  options.tools = R"([{"type": "function", "function": {"name": "get_time", "parameters":
                      {"type": "object", "properties": {"zone": {"enum": ["CET", "UTC"]}}, "required": ["zone"]}}}])";
  options.tools_required = 1;
  const lanner_message question = {
      .role = "user", .content = "What time is it?", .tool_calls = nullptr, .tool_call_count = 0};
  answer = lanner_chat(model, &question, 1, &options);
  REQUIRE(answer != nullptr);
  lanner_result result;
  REQUIRE(lanner_get_result(answer, &result) == LANNER_OK);
  REQUIRE(result.tool_call_count >= 1);
  CHECK(std::string(result.tool_calls[0].name) == "get_time");
  const std::string arguments = result.tool_calls[0].arguments;
  CHECK((arguments.find("CET") != std::string::npos || arguments.find("UTC") != std::string::npos));
  lanner_answer_free(answer);

  options.format = LANNER_REGEX;
  CHECK(lanner_chat(model, &question, 1, &options) == nullptr);
  CHECK(lanner_last_status() == LANNER_INVALID_ARGUMENT);
  CHECK(std::string(lanner_last_error()).find("format_text") != std::string::npos);
  lanner_free(model);
}

TEST_CASE("C: every failure has a status and a message, and the next success clears them") {
  CHECK(lanner_load("/nowhere/at/all", nullptr) == nullptr);
  CHECK(lanner_last_status() == LANNER_NOT_FOUND);
  CHECK(std::string(lanner_last_error()).find("/nowhere/at/all") != std::string::npos);
  CHECK(lanner_load(nullptr, nullptr) == nullptr);
  CHECK(lanner_last_status() == LANNER_INVALID_ARGUMENT);
  lanner_load_options load = {};
  load.kv_type = "q5";
  CHECK(lanner_load(kTale.c_str(), &load) == nullptr);
  CHECK(lanner_last_status() == LANNER_UNSUPPORTED);
  load = {};
  load.cache_bytes = 1000;
  lanner_model* model = lanner_load(kTale.c_str(), &load);
  REQUIRE(model != nullptr);
  CHECK(lanner_last_status() == LANNER_OK);
  CHECK(std::string(lanner_last_error()).empty());
  CHECK(lanner_complete(model, "x", nullptr) == nullptr);
  CHECK(lanner_last_status() == LANNER_OUT_OF_MEMORY);
  CHECK(lanner_chat(model, nullptr, 1, nullptr) == nullptr);
  CHECK(lanner_last_status() == LANNER_INVALID_ARGUMENT);
  CHECK(lanner_next(nullptr, nullptr) == LANNER_INVALID_ARGUMENT);
  lanner_generate_options options = lanner_generate_defaults();
  options.stop_count = 1;
  CHECK(lanner_complete(model, "x", &options) == nullptr);
  CHECK(lanner_last_status() == LANNER_INVALID_ARGUMENT);
  lanner_free(model);
  lanner_free(nullptr);
  lanner_answer_free(nullptr);
  lanner_cancel(nullptr);
  CHECK(default_answers_are_unlimited() == 1);
}
