// SPDX-License-Identifier: MIT
// Fields of docs/api.md that no other test of requests names: what each does to the request that is made of
// it.
#include <doctest/doctest.h>

#include <optional>

#include "server/chat_request.h"
#include "server/completion_request.h"
#include "server/http_client.h"
#include "server/json_fields.h"
#include "server/messages_request.h"
#include "server/problem.h"
#include "server/test_server.h"

namespace lanner::server {
namespace {

const RequestRules kRules{.model = "tale", .vocabulary = 100, .context = 256};

Json chat_with(const Json& fields) {
  Json body{{"messages", {{{"role", "user"}, {"content", "Hello"}}}}};
  body.update(fields);
  return body;
}

engine::SamplingOptions sampling_of(const Json& fields) {
  return read_chat_request(chat_with(fields), kRules).generation.request.sampling;
}

std::optional<Problem> refused(const Json& fields) {
  try {
    read_chat_request(chat_with(fields), kRules);
  } catch (const RequestError& error) {
    return error.problem();
  }
  return std::nullopt;
}

/// "status code param" of a refused chat request.
std::string refusal(const Json& fields) {
  const std::optional<Problem> problem = refused(fields);
  return problem ? std::to_string(problem->status) + " " + problem->code + " " + problem->param : "accepted";
}

const Json kTools{{{"type", "function"}, {"function", {{"name", "a"}}}},
                  {{"type", "function"}, {"function", {{"name", "b"}}}}};

}  // namespace

TEST_CASE("every sampler's fields arrive, and none takes a text or a value out of its range") {
  const engine::SamplingOptions options = sampling_of({{"repeat_penalty", 1.25},
                                                       {"repeat_last_n", 7},
                                                       {"frequency_penalty", 0.5},
                                                       {"presence_context_size", 8},
                                                       {"frequency_context_size", -1},
                                                       {"typical_p", 0.75},
                                                       {"top_n_sigma", 1.5},
                                                       {"xtc_probability", 0.5},
                                                       {"xtc_threshold", 0.25},
                                                       {"dry_multiplier", 0.5},
                                                       {"dry_base", 2},
                                                       {"dry_allowed_length", 3},
                                                       {"dry_penalty_last_n", -1},
                                                       {"dry_sequence_breakers", {"x"}},
                                                       {"mirostat", 2},
                                                       {"mirostat_tau", 4},
                                                       {"mirostat_eta", 0.25},
                                                       {"dynatemp_range", 0.5},
                                                       {"dynatemp_exponent", 2},
                                                       {"adaptive_target", 0.5},
                                                       {"adaptive_decay", 0.75},
                                                       {"samplers", {"top_k", "penalties", "temperature"}}});
  CHECK(options.repetition_penalty == 1.25F);
  CHECK(options.penalty_window == 7);
  CHECK(options.frequency_penalty == 0.5F);
  CHECK(options.presence_window == 8);
  CHECK(options.frequency_window == 0);
  CHECK(options.typical_p == 0.75F);
  CHECK(options.top_n_sigma == 1.5F);
  CHECK(options.xtc.probability == 0.5F);
  CHECK(options.xtc.threshold == 0.25F);
  CHECK(options.dry.multiplier == 0.5F);
  CHECK(options.dry.base == 2);
  CHECK(options.dry.allowed_length == 3);
  CHECK(options.dry.window == 0);
  CHECK(options.dry.breakers == std::vector<std::string>{"x"});
  CHECK(options.mirostat.version == 2);
  CHECK(options.mirostat.target == 4);
  CHECK(options.mirostat.rate == 0.25F);
  CHECK(options.dynamic_temperature.range == 0.5F);
  CHECK(options.dynamic_temperature.exponent == 2);
  CHECK(options.adaptive.target == 0.5F);
  CHECK(options.adaptive.decay == 0.75F);
  CHECK(options.steps.size() == 2);
  for (const char* field : {"repeat_penalty",     "frequency_penalty",
                            "repeat_last_n",      "presence_context_size",
                            "typical_p",          "frequency_context_size",
                            "top_n_sigma",        "xtc_probability",
                            "xtc_threshold",      "dry_multiplier",
                            "dry_base",           "dry_allowed_length",
                            "dry_penalty_last_n", "dry_sequence_breakers",
                            "mirostat",           "mirostat_tau",
                            "mirostat_eta",       "dynatemp_range",
                            "dynatemp_exponent",  "adaptive_target",
                            "adaptive_decay",     "samplers"}) {
    CAPTURE(field);
    CHECK(refusal({{field, "x"}}) == "400 invalid_type " + std::string(field));
  }
  CHECK(refusal({{"mirostat", 3}}) == "400 invalid_value mirostat");
  CHECK(refusal({{"xtc_probability", 1.5}}) == "400 invalid_value xtc_probability");
  CHECK(refusal({{"adaptive_decay", 1}}) == "400 invalid_value adaptive_decay");
  CHECK(refusal({{"samplers", {"top_x"}}}) == "400 invalid_value samplers[0]");
}

TEST_CASE("a whole number beyond 64 bits is out of range, one with a fraction is of another type") {
  for (const char* number :
       {"18446744073709551616", "9223372036854775808", "-9223372036854775809", "1e300"}) {
    CAPTURE(number);
    for (const char* field : {"seed", "max_tokens"})
      CHECK(refusal({{field, Json::parse(number)}}) == "400 invalid_value " + std::string(field));
    CHECK_THROWS_AS(read_token_ids({Json::parse(number)}, "prompt", 100), RequestError);
  }
  CHECK(refused({{"seed", Json::parse("18446744073709551616")}})->message ==
        "seed is 1.8446744073709552e+19, expected -9223372036854775808 to 9223372036854775807");
  CHECK(refusal({{"seed", 1.5}}) == "400 invalid_type seed");
  CHECK(refusal({{"seed", 1e3}}) == "400 invalid_type seed");
}

TEST_CASE("fields that change nothing are accepted with any value") {
  for (const char* field :
       {"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"})
    for (const Json& value : {Json("x"), Json(1), Json{{"a", "b"}}, Json(true)})
      CHECK(refusal({{field, value}}) == "accepted");
  CHECK(refusal({{"cache", {{"exact", true}}}}) == "accepted");
  CHECK(refusal({{"cache", {{"exact", 1}}}}) == "400 invalid_type cache.exact");
}

TEST_CASE("fields of what an answer holds arrive") {
  const ChatRequest chat = read_chat_request(chat_with({{"return_token_ids", true},
                                                        {"logprobs", true},
                                                        {"logprobs_all", true},
                                                        {"stream_options", {{"include_timings", true}}},
                                                        {"reasoning", {{"exclude", true}, {"max_tokens", 9}}},
                                                        {"add_generation_prompt", false}}),
                                             kRules);
  CHECK(chat.generation.return_tokens);
  CHECK(chat.generation.log_all_tokens);
  CHECK(chat.generation.include_timings);
  CHECK(chat.generation.exclude_reasoning);
  CHECK(chat.generation.request.thinking_budget == 9);
  CHECK(chat.input.generation_prompt == text::GenerationPrompt::kOmit);
  CHECK(refusal({{"reasoning", {{"exclude", 1}}}}) == "400 invalid_type reasoning.exclude");
  CHECK(refusal({{"add_generation_prompt", "no"}}) == "400 invalid_type add_generation_prompt");
  CHECK(refusal({{"return_token_ids", 1}}) == "400 invalid_type return_token_ids");
  CHECK(
      read_completion_request({{"prompt", "a"}, {"add_special_tokens", false}}, kRules).add_special_tokens ==
      false);
}

TEST_CASE("a list of allowed tools hides the others") {
  const ChatRequest chat = read_chat_request(
      chat_with(
          {{"tools", kTools},
           {"tool_choice",
            {{"type", "allowed_tools"},
             {"allowed_tools",
              {{"mode", "required"}, {"tools", {{{"type", "function"}, {"function", {{"name", "b"}}}}}}}}}}}),
      kRules);
  CHECK(chat.tool_choice.use == ToolChoice::Use::kRequired);
  CHECK(chat.tool_choice.names == std::vector<std::string>{"b"});
  CHECK(chat.input.tools.size() == 1);
}

TEST_CASE("an answer can be asked to be any JSON object") {
  const ChatRequest chat =
      read_chat_request(chat_with({{"response_format", {{"type", "json_object"}}}}), kRules);
  CHECK(chat.shape.kind == OutputShape::Kind::kJsonObject);
}

TEST_CASE("media parts are refused by place, spoken answers as not supported") {
  for (const char* type : {"image_url", "input_audio", "video_url"}) {
    const Json part{{"type", type}, {type, {{"url", "file:///etc/passwd"}}}};
    CHECK(refusal({{"messages", {{{"role", "user"}, {"content", {part}}}}}}) ==
          "400 unsupported_modality messages[0].content[0]");
  }
  CHECK(refusal({{"modalities", {"text"}}}) == "accepted");
  CHECK(refusal({{"modalities", {"text", "audio"}}}) == "501 not_supported modalities");
  CHECK(refusal({{"audio", {{"voice", "x"}}}}) == "501 not_supported audio");
  const Json image{{"type", "image"}, {"source", {{"type", "url"}, {"url", "http://127.0.0.1/"}}}};
  const test::HttpReply reply =
      test::http_post(test::shared_server("tale-gemma4").port(), "/v1/messages",
                      {{"max_tokens", 1}, {"messages", {{{"role", "user"}, {"content", {image}}}}}});
  CHECK(reply.status == 400);
}

TEST_CASE("blocks of the Messages API become one conversation") {
  const Json body{
      {"max_tokens", 5},
      {"system", {{{"type", "text"}, {"text", "S"}, {"cache_control", {{"type", "ephemeral"}}}}}},
      {"messages",
       {{{"role", "user"},
         {"content",
          {{{"type", "document"}, {"source", {{"type", "text"}, {"data", "D"}}}},
           {{"type", "text"}, {"text", "T"}}}}},
        {{"role", "assistant"},
         {"content", {{{"type", "redacted_thinking"}, {"data", "x"}}, {{"type", "text"}, {"text", "A"}}}}},
        {{"role", "user"}, {"content", "U"}}}}};
  const ChatRequest chat = read_messages_request(body, kRules, MessagesUse::kAnswer);
  const std::string messages = chat.input.messages.dump();
  CHECK(messages.find("DT") != std::string::npos);
  CHECK(messages.find("\"A\"") != std::string::npos);
  CHECK(messages.find("redacted") == std::string::npos);
}

TEST_CASE("developer messages are system messages") {
  const std::uint16_t port = test::shared_server("tale-gemma4").port();
  const auto prompt = [&](const char* role) {
    const Json body{{"messages", {{{"role", role}, {"content", "S"}}, {{"role", "user"}, {"content", "U"}}}}};
    return test::http_post(port, "/apply-template", body).json()["prompt"];
  };
  CHECK(prompt("developer") == prompt("system"));
}

TEST_CASE("texts become tokens with or without what stands before texts, markers parsed or not") {
  const std::uint16_t port = test::shared_server("tale-gemma4").port();
  const auto tokens = [&](const Json& body) {
    return test::http_post(port, "/tokenize", body).json()["tokens"];
  };
  CHECK(tokens({{"prompt", "a"}}).size() ==
        tokens({{"prompt", "a"}, {"add_special_tokens", false}}).size() + 1);
  CHECK(tokens({{"content", "a"}, {"add_special", true}}) == tokens({{"prompt", "a"}}));
  CHECK(tokens({{"content", "<|turn>"}}).size() == 1);
  CHECK(tokens({{"content", "<|turn>"}, {"parse_special", false}}).size() > 1);
  const Json pieces =
      test::http_post(port, "/tokenize", {{"content", "fox"}, {"return_pieces", true}}).json();
  CHECK(pieces["token_strs"].size() == pieces["tokens"].size());
  const Json marked = tokens({{"content", "a<|turn>"}});
  const auto text = [&](bool skip) {
    return test::http_post(port, "/detokenize", {{"tokens", marked}, {"skip_special_tokens", skip}})
        .json()["prompt"];
  };
  CHECK(text(false) == "a<|turn>");
  CHECK(text(true) == "a");
}

}  // namespace lanner::server
