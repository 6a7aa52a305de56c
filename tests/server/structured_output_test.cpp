// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "engine/test_models.h"
#include "server/http_client.h"
#include "server/test_server.h"

namespace lanner::test {
namespace {

const Json kAnswerSchema = {
    {"type", "object"},
    {"properties", {{"answer", {{"type", "integer"}, {"minimum", 0}, {"maximum", 99}}}}},
    {"required", {"answer"}},
    {"additionalProperties", false}};

Json question() {
  return {{"messages", {{{"role", "user"}, {"content", "What is your name?"}}}},
          {"temperature", 1.5},
          {"seed", 11},
          {"max_tokens", 200},
          {"reasoning_effort", "none"}};
}

Json weather_tools() {
  return {{{"type", "function"},
           {"function",
            {{"name", "get_weather"},
             {"description", "Weather of a city"},
             {"parameters",
              {{"type", "object"},
               {"properties", {{"city", {{"type", "string"}, {"enum", {"Bonn", "Oslo"}}}}}},
               {"required", {"city"}},
               {"additionalProperties", false}}}}}}};
}

std::string streamed_content(std::uint16_t port, Json body) {
  body["stream"] = true;
  std::string content;
  for (const std::string& data : event_data(http_post(port, "/v1/chat/completions", body).body)) {
    if (data == "[DONE]") continue;
    const Json chunk = Json::parse(data);
    for (const Json& choice : chunk["choices"]) content += choice["delta"].value("content", "");
  }
  return content;
}

}  // namespace

TEST_CASE("a text without choice is spelt without the tokens that the request bans") {
  for (const char* name : kTaleNames) {
    CAPTURE(name);
    const std::uint16_t port = shared_server(name).port();
    Json body = question();
    body["structured_outputs"] = {{"choice", {"Once upon a time there was a lantern."}}};
    body["return_token_ids"] = true;
    const auto ask = [&] { return http_post(port, "/v1/chat/completions", body).json()["choices"][0]; };
    const Json plain = ask();
    std::size_t banned = 0;
    for (const TokenId id : plain["token_ids"].get<std::vector<TokenId>>()) {
      if (tale(name)->tokenizer().token_bytes(id).size() < 3) continue;
      for (const Json& bias : {Json(false), Json(-100)}) {
        body["logit_bias"] = {{std::to_string(id), bias}};
        const Json other = ask();
        CHECK(other["message"]["content"] == plain["message"]["content"]);
        CHECK(std::ranges::count(other["token_ids"].get<std::vector<TokenId>>(), id) == 0);
      }
      if (++banned == 5) break;
    }
    CHECK(banned > 2);
  }
}

TEST_CASE("bans that leave the asked shape no token are the request's fault, not an end") {
  for (const char* name : kTaleNames) {
    CAPTURE(name);
    const std::uint16_t port = shared_server(name).port();
    const text::Tokenizer& tokenizer = tale(name)->tokenizer();
    Json truth = Json::object(), all = Json::object();
    for (std::size_t id = 0; id < tokenizer.vocab_size(); ++id) {
      const std::string bytes = tokenizer.token_bytes(static_cast<TokenId>(id));
      all[std::to_string(id)] = false;
      if (bytes.starts_with('t') || bytes.starts_with('f')) truth[std::to_string(id)] = false;
    }
    Json body = question();
    body["response_format"] = {{"type", "json_schema"}, {"json_schema", {{"schema", {{"type", "boolean"}}}}}};
    body["logit_bias"] = truth;
    HttpReply reply = http_post(port, "/v1/chat/completions", body);
    CHECK(reply.status == 400);
    CHECK(reply.json()["error"]["code"] == "invalid_value");
    body["response_format"] = {{"type", "json_object"}};
    body["logit_bias"] = all;
    body["stream"] = true;
    reply = http_post(port, "/v1/chat/completions", body);
    CHECK(reply.status == 400);
    // An end that is banned is no fault: the answer is complete.
    body = question();
    body["structured_outputs"] = {{"choice", {"yes"}}};
    body["ignore_eos"] = true;
    CHECK(http_post(port, "/v1/chat/completions", body).json()["choices"][0]["message"]["content"] == "yes");
  }
}

TEST_CASE("an answer has the shape that was asked for, streamed or whole") {
  for (const char* name : kTaleNames) {
    CAPTURE(name);
    const std::uint16_t port = shared_server(name).port();
    Json body = question();
    body["response_format"] = {{"type", "json_schema"},
                               {"json_schema", {{"name", "a"}, {"schema", kAnswerSchema}}}};
    const Json message = http_post(port, "/v1/chat/completions", body).json()["choices"][0]["message"];
    const Json value = Json::parse(message["content"].get<std::string>(), nullptr, false);
    REQUIRE(value.is_object());
    CHECK(value["answer"].is_number_integer());
    CHECK(streamed_content(port, body) == message["content"]);

    body.erase("response_format");
    for (const Json& shape :
         {Json{{"regex", "(yes|no), [a-z]{3}"}}, Json{{"choice", {"yes, abc", "no, abc"}}},
          Json{{"grammar", "root ::= \"yes, \" [a-z] [a-z] [a-z]"}},
          Json{{"grammar", "start: \"no, \" /[a-z]{3}/"}, {"grammar_syntax", "lark"}}}) {
      CAPTURE(shape.dump());
      body["structured_outputs"] = shape;
      const std::string text =
          http_post(port, "/v1/chat/completions", body).json()["choices"][0]["message"]["content"];
      CHECK((text.starts_with("yes, ") || text.starts_with("no, ")));
      CHECK(text.size() == text.find(' ') + 4);
    }
  }
}

TEST_CASE("a grammar that takes too much work for a token is refused alike each time") {
  const std::uint16_t port = shared_server("tale-gemma4").port();
  const Json body = {{"prompt", "hi"},
                     {"structured_outputs", {{"regex", "(a?){2000}a{2000}"}}},
                     {"max_tokens", 60},
                     {"seed", 1}};
  for (int again = 0; again < 3; ++again) {
    const HttpReply reply = http_post(port, "/v1/completions", body);
    REQUIRE(reply.status == 400);
    CHECK(reply.json()["error"]["code"] == "grammar_limit");
  }
}

TEST_CASE("a schema or grammar that cannot be used is refused with its place") {
  const std::uint16_t port = shared_server("tale-gemma4").port();
  const auto error = [&](const char* field, Json value) {
    Json body = question();
    body[field] = std::move(value);
    const HttpReply reply = http_post(port, "/v1/chat/completions", body);
    CHECK(reply.status == 400);
    return reply.json()["error"];
  };
  const Json bad = {{"type", "object"}, {"properties", {{"a", {{"type", "strange"}}}}}};
  const Json schema_error =
      error("response_format", {{"type", "json_schema"}, {"json_schema", {{"name", "a"}, {"schema", bad}}}});
  CHECK(schema_error["code"] == "invalid_schema");
  CHECK(schema_error["param"] == "response_format.json_schema.schema");
  CHECK(schema_error["message"].get<std::string>().find("/properties/a") != std::string::npos);
  CHECK(error("structured_outputs", {{"grammar", "root ::= \"a"}})["code"] == "invalid_grammar");
  CHECK(error("structured_outputs", {{"regex", "(?=a)"}})["code"] == "unsupported_schema");
}

TEST_CASE("a forced tool call comes complete, its pieces join to its arguments") {
  for (const char* name : kTaleNames) {
    CAPTURE(name);
    const std::uint16_t port = shared_server(name).port();
    Json body = question();
    body["tools"] = weather_tools();
    for (const Json& choice :
         {Json("required"), Json{{"type", "function"}, {"function", {{"name", "get_weather"}}}}}) {
      CAPTURE(choice.dump());
      body["tool_choice"] = choice;
      body["parallel_tool_calls"] = false;
      body.erase("stream");
      const Json whole = http_post(port, "/v1/chat/completions", body).json()["choices"][0];
      REQUIRE(whole["finish_reason"] == "tool_calls");
      CHECK(whole["message"]["content"].is_null());
      REQUIRE(whole["message"]["tool_calls"].size() == 1);
      const Json call = whole["message"]["tool_calls"][0];
      CHECK(call["function"]["name"] == "get_weather");
      const Json arguments = Json::parse(call["function"]["arguments"].get<std::string>());
      CHECK((arguments["city"] == "Bonn" || arguments["city"] == "Oslo"));
      body["stream"] = true;
      std::string id, pieces, finish;
      for (const std::string& data : event_data(http_post(port, "/v1/chat/completions", body).body)) {
        if (data == "[DONE]") continue;
        const Json delta = Json::parse(data)["choices"][0];
        if (!delta["finish_reason"].is_null()) finish = delta["finish_reason"];
        for (const Json& part : delta["delta"].value("tool_calls", Json::array())) {
          CHECK(part["index"] == 0);
          id += part.value("id", "");
          pieces += part["function"]["arguments"].get<std::string>();
        }
      }
      CHECK(id == call["id"]);
      CHECK(pieces == call["function"]["arguments"]);
      CHECK(finish == "tool_calls");
    }
    const Json anthropic = {
        {"max_tokens", 200},
        {"messages", body["messages"]},
        {"tools",
         {{{"name", "get_weather"}, {"input_schema", weather_tools()[0]["function"]["parameters"]}}}},
        {"tool_choice", {{"type", "any"}}},
        {"thinking", {{"type", "disabled"}}}};
    const Json message = http_post(port, "/v1/messages", anthropic).json();
    CHECK(message["stop_reason"] == "tool_use");
    CHECK(message["content"][0]["input"].contains("city"));
  }
}

}  // namespace lanner::test
