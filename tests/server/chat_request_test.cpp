// SPDX-License-Identifier: MIT
#include "server/chat_request.h"

#include <doctest/doctest.h>

#include <cmath>

#include "server/completion_request.h"
#include "server/messages_request.h"
#include "server/problem.h"

namespace lanner::server {
namespace {

const RequestRules kRules{.model = "tale", .aliases = {"other"}, .vocabulary = 100, .context = 256};

Json hello() { return {{"messages", {{{"role", "user"}, {"content", "Hello"}}}}}; }

Json hello_with(const char* field, Json value) {
  Json body = hello();
  body[field] = std::move(value);
  return body;
}

Problem chat_problem(const Json& body, const RequestRules& rules = kRules) {
  try {
    read_chat_request(body, rules);
  } catch (const RequestError& error) {
    return error.problem();
  }
  return {.status = 200};
}

/// A field, a value that is refused, and the code and param of the refusal.
struct BadField {
  const char* field;
  Json value;
  const char* code;
  const char* param = nullptr;  ///< default: the field
};

}  // namespace

TEST_CASE("a chat request with nothing but messages has the server's defaults") {
  const ChatRequest chat = read_chat_request(hello(), kRules);
  CHECK(chat.generation.delivery == Delivery::kWhole);
  CHECK_FALSE(chat.generation.request.max_tokens);
  CHECK(chat.generation.request.choices == 1);
  CHECK_FALSE(chat.generation.seeded);
  CHECK(chat.input.messages.size() == 1);
  CHECK(chat.shape.is_free());
}

TEST_CASE("null is absent in every optional field") {
  Json body = hello();
  for (const char* field :
       {"model", "max_tokens", "temperature", "stop", "tools", "seed", "stream_options", "n", "logit_bias",
        "response_format", "tool_choice", "reasoning", "cache", "stream"})
    body[field] = nullptr;
  CHECK(chat_problem(body).status == 200);
}

TEST_CASE("fields of a chat request arrive") {
  Json body = hello();
  body.update(Json{{"temperature", 0.5},
                   {"top_p", 0},
                   {"top_k", 100},
                   {"min_p", 0.1},
                   {"seed", -1},
                   {"repetition_penalty", 1.5},
                   {"repetition_context_size", 0},
                   {"presence_penalty", -1},
                   {"logit_bias", {{"5", false}, {"6", 2}}},
                   {"n", 3},
                   {"stop", "x"},
                   {"stop_token_ids", {7}},
                   {"ignore_eos", true},
                   {"min_tokens", 4},
                   {"max_tokens", 9},
                   {"max_completion_tokens", 8},
                   {"priority", -5},
                   {"timeout_ms", 1500},
                   {"logprobs", true},
                   {"top_logprobs", 3},
                   {"cache", {{"read", false}}},
                   {"speculation", {{"max_depth", 5}}},
                   {"thinking_budget", 12},
                   {"reasoning_effort", "low"}});
  const ChatRequest chat = read_chat_request(body, kRules);
  const engine::Request& request = chat.generation.request;
  CHECK(request.sampling.temperature == 0.5F);
  CHECK(request.sampling.top_p == 1);
  CHECK(request.sampling.top_k == 0);
  CHECK(request.sampling.min_p == 0.1F);
  CHECK(request.sampling.seed == ~std::uint64_t{0});
  CHECK(request.sampling.repetition_penalty == 1.5F);
  CHECK(request.sampling.presence_penalty == -1);
  CHECK(request.sampling.penalty_window == 0);
  CHECK(std::isinf(request.sampling.logit_bias.at(5)));
  CHECK(request.sampling.logit_bias.at(6) == 2);
  CHECK(request.choices == 3);
  CHECK(request.stop == std::vector<std::string>{"x"});
  CHECK(request.stop_ids == std::vector<TokenId>{7});
  CHECK(request.end_of_text == engine::EndOfText::kBanned);
  CHECK(request.min_tokens == 4);
  CHECK(request.max_tokens == 8U);
  CHECK(request.priority == -5);
  CHECK(request.timeout == std::chrono::milliseconds(1500));
  CHECK(request.top_logprobs == 3U);
  CHECK_FALSE(request.prefix.read);
  CHECK(request.prefix.write);
  CHECK(request.draft_tokens == 5);
  CHECK(request.thinking_budget == 12U);
  CHECK(chat.input.thinking == text::ThinkingSwitch::kOn);
  CHECK(chat.input.extra["reasoning_effort"] == "low");
}

TEST_CASE("a field of a wrong type or out of range is 400 with its name") {
  const Json tool{{"type", "function"}, {"function", {{"name", "f"}}}};
  const BadField kBad[] = {
      {"temperature", -0.1, "invalid_value"},
      {"temperature", 5.1, "invalid_value"},
      {"temperature", "1", "invalid_type"},
      {"top_p", 1.5, "invalid_value"},
      {"top_k", -2, "invalid_value"},
      {"top_k", 1.5, "invalid_type"},
      {"min_p", 2, "invalid_value"},
      {"temperature", {{"points", Json::array()}}, "invalid_value", "temperature.points"},
      {"temperature", {{"points", {{5, 1}, {5, 2}}}}, "invalid_value", "temperature.points[1]"},
      {"typical_p", 1.5, "invalid_value"},
      {"top_n_sigma", "a", "invalid_type"},
      {"xtc_probability", -1, "invalid_value"},
      {"mirostat", 3, "invalid_value"},
      {"dynatemp_range", -1, "invalid_value"},
      {"dry_sequence_breakers", {1}, "invalid_type", "dry_sequence_breakers[0]"},
      {"samplers", {"best"}, "invalid_value", "samplers[0]"},
      {"hlg", {{"pivot", "x"}}, "invalid_value", "hlg.pivot"},
      {"curve", {{"points", {{{"x_pct", 1}, {"y_pct", 1}}}}}, "invalid_value", "curve.points"},
      {"repetition_penalty", 0, "invalid_value"},
      {"presence_penalty", "a", "invalid_type"},
      {"logit_bias", {{"999999999", 5}}, "invalid_value"},
      {"logit_bias", {{"-1", 1}}, "invalid_value"},
      {"logit_bias", {{"x", 1}}, "invalid_value"},
      {"logit_bias", {{"5", "a"}}, "invalid_type", "logit_bias.5"},
      {"logit_bias", {{"5", true}}, "invalid_type", "logit_bias.5"},
      {"logit_bias", {{"5", 1e39}}, "invalid_value", "logit_bias.5"},
      {"logit_bias", Json::array({1}), "invalid_type"},
      {"seed", 1.5, "invalid_type"},
      {"seed", 18446744073709551615ULL, "invalid_value"},
      {"n", 0, "invalid_value"},
      {"n", 17, "invalid_value"},
      {"stop", {""}, "invalid_value", "stop[0]"},
      {"stop", "", "invalid_value"},
      {"stop", 5, "invalid_type"},
      {"stop", {5}, "invalid_type", "stop[0]"},
      {"stop", Json(std::vector<std::string>(17, "a")), "invalid_value"},
      {"stop_token_ids", {100}, "invalid_value", "stop_token_ids[0]"},
      {"stop_token_ids", {-1}, "invalid_value", "stop_token_ids[0]"},
      {"min_tokens", -1, "invalid_value"},
      {"max_tokens", -1, "invalid_value"},
      {"max_tokens", 1.5, "invalid_type"},
      {"max_tokens", "10", "invalid_type"},
      {"stream", "yes", "invalid_type"},
      {"stream_options", 5, "invalid_type"},
      {"stream_options", {{"include_usage", 1}}, "invalid_type", "stream_options.include_usage"},
      {"top_logprobs", 5, "invalid_value"},
      {"top_logprobs", 21, "invalid_value"},
      {"logprobs", 1, "invalid_type"},
      {"tools", {{{"type", "function"}}}, "missing_field", "tools[0].function"},
      {"tools",
       {{{"type", "function"}, {"function", {{"name", "a b"}}}}},
       "invalid_value",
       "tools[0].function.name"},
      {"tools", Json::array({tool, tool}), "invalid_value", "tools[1].function.name"},
      {"tools", 5, "invalid_type"},
      {"tool_choice", "sometimes", "invalid_value"},
      {"tool_choice", "required", "invalid_value"},
      {"tool_choice", {{"type", "function"}, {"function", {{"name", "g"}}}}, "invalid_value"},
      {"tool_choice", 5, "invalid_type"},
      {"parallel_tool_calls", 1, "invalid_type"},
      {"response_format", {{"type", "xml"}}, "invalid_value", "response_format.type"},
      {"response_format", {{"type", "json_schema"}}, "missing_field", "response_format.json_schema"},
      {"response_format", "json", "invalid_type"},
      {"structured_outputs", {{"regex", "a"}, {"choice", {"a"}}}, "invalid_value"},
      {"structured_outputs", Json::object(), "invalid_value"},
      {"structured_outputs", {{"choice", Json::array()}}, "invalid_value", "structured_outputs.choice"},
      {"reasoning_effort", "extreme", "invalid_value"},
      {"reasoning", {{"max_tokens", -1}}, "invalid_value", "reasoning.max_tokens"},
      {"thinking_budget", -1, "invalid_value"},
      {"chat_template_kwargs", "x", "invalid_type"},
      {"chat_template_kwargs",
       {{"enable_thinking", "x"}},
       "invalid_type",
       "chat_template_kwargs.enable_thinking"},
      {"continue_final_message", true, "invalid_value"},
      {"adapter", "a", "adapter_not_found"},
      {"priority", 101, "invalid_value"},
      {"timeout_ms", 0, "invalid_value"},
      {"cache", {{"read", 1}}, "invalid_type", "cache.read"},
      {"speculation", 3, "invalid_type"},
      {"prompt_logprobs", 21, "invalid_value"},
      {"model", 5, "invalid_type"},
      {"messages", Json::array(), "invalid_value"},
      {"messages", "hi", "invalid_type"},
      {"messages", {5}, "invalid_type", "messages[0]"},
      {"messages", {{{"content", "x"}}}, "missing_field", "messages[0].role"},
      {"messages", {{{"role", "robot"}, {"content", "x"}}}, "invalid_value", "messages[0].role"},
      {"messages", {{{"role", "user"}}}, "missing_field", "messages[0].content"},
      {"messages", {{{"role", "user"}, {"content", 5}}}, "invalid_type", "messages[0].content"},
      {"messages",
       {{{"role", "user"},
         {"content", {{{"type", "image_url"}, {"image_url", {{"url", "file:///etc/passwd"}}}}}}}},
       "unsupported_modality",
       "messages[0].content[0]"},
      {"messages",
       {{{"role", "user"}, {"content", {{{"type", "text"}}}}}},
       "missing_field",
       "messages[0].content[0].text"},
  };
  for (const BadField& bad : kBad) {
    CAPTURE(bad.field);
    CAPTURE(bad.value.dump());
    const Problem problem = chat_problem(hello_with(bad.field, bad.value));
    CHECK(problem.status == (std::string(bad.code) == "adapter_not_found" ? 404 : 400));
    CHECK(problem.code == bad.code);
    CHECK(problem.param == (bad.param ? bad.param : bad.field));
  }
}

TEST_CASE("a body without messages says so") { CHECK(chat_problem(Json::object()).code == "missing_field"); }

TEST_CASE("unknown fields are refused only in strict mode") {
  const Json body = hello_with("temprature", 1);
  CHECK(chat_problem(body).status == 200);
  RequestRules strict = kRules;
  strict.unknown_fields = UnknownFields::kRefused;
  CHECK(chat_problem(body, strict).param == "temprature");
  CHECK(chat_problem(hello(), strict).status == 200);
}

TEST_CASE("any model name is served unless names are strict; unknown adapters never are") {
  CHECK(chat_problem(hello_with("model", "gpt-4")).status == 200);
  CHECK(chat_problem(hello_with("model", "tale:x")).code == "adapter_not_found");
  CHECK(chat_problem(hello_with("model", "other:x")).status == 404);
  RequestRules strict = kRules;
  strict.unknown_models = UnknownModels::kRefused;
  CHECK(chat_problem(hello_with("model", "gpt-4"), strict).code == "model_not_found");
  CHECK(chat_problem(hello_with("model", "other"), strict).status == 200);
}

TEST_CASE("bodies that are no JSON object are refused with their place") {
  for (const std::string& body :
       {std::string("{:}"), std::string(), std::string("[]"), std::string(100000, '['), std::string("{} x"),
        std::string("{\"a\":\"\xff\"}"), std::string("\0", 1), std::string("{\"a\":1e400}"),
        std::string("{\"a\":")}) {
    CAPTURE(body.substr(0, 20));
    CHECK_THROWS_AS(parse_body(body), RequestError);
  }
  try {
    parse_body("{\"a\": nul}");
    FAIL("no error");
  } catch (const RequestError& error) {
    CHECK(error.problem().code == "invalid_json");
    CHECK(error.problem().message.find("line 1") != std::string::npos);
  }
}

TEST_CASE("an object with a hundred thousand keys ends early") {
  std::string body = "{";
  for (int i = 0; i < 100000; ++i) body += "\"k" + std::to_string(i) + "\":1,";
  body += "\"z\":1}";
  CHECK_THROWS_AS(parse_body(body), RequestError);
}

TEST_CASE("a completion's prompt may be text, texts, ids or lists of ids") {
  const auto prompts = [](Json prompt) {
    return read_completion_request({{"prompt", prompt}}, kRules).prompts;
  };
  CHECK(prompts("a").size() == 1);
  CHECK(prompts({"a", "b"}).size() == 2);
  CHECK(std::get<std::vector<TokenId>>(prompts({1, 2}).at(0)) == std::vector<TokenId>{1, 2});
  CHECK(prompts({{1, 2}, {3}}).size() == 2);
  for (const Json& bad : {Json::array(), Json(5), Json{true}, Json{1, "a"}, Json{100}})
    CHECK_THROWS_AS(prompts(bad), RequestError);
  CHECK_THROWS_AS(read_completion_request(Json::object(), kRules), RequestError);
  CHECK_THROWS_AS(read_completion_request({{"prompt", "a"}, {"suffix", "b"}}, kRules), RequestError);
  CHECK_THROWS_AS(read_completion_request({{"prompt", "a"}, {"n", 3}, {"best_of", 2}}, kRules), RequestError);
}

TEST_CASE("a conversation of Anthropic's API becomes one of OpenAI's") {
  const Json body = {
      {"max_tokens", 10},
      {"system",
       {{{"type", "text"}, {"text", "x-anthropic-billing-header: 1"}}, {{"type", "text"}, {"text", "S"}}}},
      {"stop_sequences", {"END"}},
      {"tools",
       {{{"name", "add"}, {"input_schema", {{"type", "object"}}}},
        {{"type", "web_search_1"}, {"name", "w"}}}},
      {"messages",
       {{{"role", "user"}, {"content", "Q"}},
        {{"role", "assistant"},
         {"content",
          {{{"type", "thinking"}, {"thinking", "T"}, {"signature", "s"}},
           {{"type", "tool_use"}, {"id", "t1"}, {"name", "add"}, {"input", {{"a", 1}}}}}}},
        {{"role", "user"},
         {"content",
          {{{"type", "text"}, {"text", "after"}},
           {{"type", "tool_result"},
            {"tool_use_id", "t1"},
            {"content", {{{"type", "text"}, {"text", "R"}}}}}}}}}}};
  const ChatRequest chat = read_messages_request(body, kRules, MessagesUse::kAnswer);
  REQUIRE(chat.input.messages.size() == 5);
  CHECK(chat.input.messages[0] == Json{{"role", "system"}, {"content", "S"}});
  CHECK(chat.input.messages[2]["reasoning_content"] == "T");
  CHECK(chat.input.messages[2]["tool_calls"][0]["function"]["arguments"] == "{\"a\":1}");
  CHECK(chat.input.messages[3]["role"] == "tool");
  CHECK(chat.input.messages[3]["content"] == "R");
  CHECK(chat.input.messages[4]["content"] == "after");
  CHECK(chat.input.tools.size() == 1);
  CHECK(chat.generation.request.stop == std::vector<std::string>{"END"});
  CHECK(chat.generation.request.max_tokens == 10U);
}

TEST_CASE("a Messages body that is wrong is refused with the field") {
  const Json good = {{"max_tokens", 10}, {"messages", {{{"role", "user"}, {"content", "Q"}}}}};
  const auto param = [&](const char* field, Json value) -> std::string {
    Json body = good;
    body[field] = std::move(value);
    try {
      read_messages_request(body, kRules, MessagesUse::kAnswer);
    } catch (const RequestError& error) {
      return error.problem().param;
    }
    return "served";
  };
  CHECK(param("max_tokens", nullptr) == "max_tokens");
  CHECK(param("max_tokens", 0) == "max_tokens");
  CHECK(param("messages", Json::array()) == "messages");
  CHECK(param("messages", {{{"role", "tool"}, {"content", "Q"}}}) == "messages[0].role");
  CHECK(param("messages", {{{"role", "user"}, {"content", {{{"type", "image"}}}}}}) ==
        "messages[0].content[0]");
  CHECK(param("messages", {{{"role", "user"}, {"content", {{{"type", "tool_use"}}}}}}) ==
        "messages[0].content[0].type");
  CHECK(param("system", 5) == "system");
  CHECK(param("tools", {{{"name", "a"}}}) == "tools[0].input_schema");
  CHECK(param("tool_choice", {{"type", "any"}}) == "tool_choice");
  CHECK(param("thinking", {{"type", "x"}}) == "thinking.type");
  CHECK(param("stop_sequences", {""}) == "stop_sequences[0]");
  CHECK(param("temperature", 0.5) == "served");
}

}  // namespace lanner::server
