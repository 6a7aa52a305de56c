// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <thread>

#include "engine/test_models.h"
#include "server/http_client.h"
#include "server/test_server.h"

namespace lanner::test {
namespace {

Json chat_body(const std::string& text, int seed, int tokens = 24) {
  return {{"messages", {{{"role", "user"}, {"content", text}}}},
          {"seed", seed},
          {"temperature", 1},
          {"max_tokens", tokens}};
}

/// A streamed chat answer put together again.
struct Joined {
  std::string content, reasoning, finish, role, arguments;
  Json logprobs = Json::array();
  Json usage;
  bool done = false;
};

Joined join_chat(const std::string& body, std::size_t choice = 0) {
  Joined all;
  for (const std::string& data : event_data(body)) {
    if (data == "[DONE]") {
      all.done = true;
      continue;
    }
    const Json chunk = Json::parse(data);
    if (chunk.contains("usage") && !chunk["usage"].is_null()) all.usage = chunk["usage"];
    for (const Json& one : chunk.value("choices", Json::array())) {
      if (one["index"] != choice) continue;
      const Json& delta = one["delta"];
      if (delta.contains("role")) all.role += delta["role"].get<std::string>();
      if (delta.contains("content")) all.content += delta["content"].get<std::string>();
      if (delta.contains("reasoning_content")) all.reasoning += delta["reasoning_content"].get<std::string>();
      for (const Json& call : delta.value("tool_calls", Json::array()))
        all.arguments += call["function"].value("arguments", "");
      if (!one["finish_reason"].is_null()) all.finish += one["finish_reason"].get<std::string>();
      if (!one["logprobs"].is_null())
        for (const Json& entry : one["logprobs"]["content"]) all.logprobs.push_back(entry);
    }
  }
  return all;
}

Json streamed(Json body) {
  body["stream"] = true;
  body["stream_options"] = {{"include_usage", true}};
  return body;
}

}  // namespace

TEST_CASE("each listed likelihood is that of a token of the content, also after thoughts") {
  const std::uint16_t port = shared_server("tale-qwen3_5").port();
  Json body = chat_body("What is 9 times 6?", 3, 400);
  body["temperature"] = 0;
  body["reasoning_effort"] = "high";
  body["thinking_budget"] = 5;
  body["logprobs"] = true;
  const Json choice = http_post(port, "/v1/chat/completions", body).json()["choices"][0];
  REQUIRE(!choice["message"]["reasoning_content"].get<std::string>().empty());
  REQUIRE(choice["finish_reason"] == "stop");
  std::string text;
  for (const Json& entry : choice["logprobs"]["content"]) text += entry["token"].get<std::string>();
  CHECK(text == choice["message"]["content"]);
}

TEST_CASE("a streamed chat answer is the whole one, byte for byte") {
  for (const char* name : kTaleNames) {
    CAPTURE(name);
    const std::uint16_t port = shared_server(name).port();
    for (const int seed : {1, 2}) {
      Json body = chat_body("Tell me a story about a fox.", seed, 40);
      body["logprobs"] = true;
      body["top_logprobs"] = 2;
      body["n"] = 2;
      const HttpReply whole = http_post(port, "/v1/chat/completions", body);
      REQUIRE(whole.status == 200);
      const HttpReply stream = http_post(port, "/v1/chat/completions", streamed(body));
      REQUIRE(stream.status == 200);
      CHECK(stream.complete);
      CHECK(stream.header("content-type") == "text/event-stream; charset=utf-8");
      for (std::size_t choice = 0; choice < 2; ++choice) {
        const Json expected = whole.json()["choices"][choice];
        const Joined got = join_chat(stream.body, choice);
        CHECK(got.role == "assistant");
        CHECK(got.content == expected["message"]["content"]);
        CHECK(got.reasoning == expected["message"].value("reasoning_content", ""));
        CHECK(got.finish == expected["finish_reason"]);
        CHECK(got.logprobs == expected["logprobs"]["content"]);
        CHECK(got.done);
        Json usage = whole.json()["usage"];
        CHECK(got.usage["completion_tokens"] == usage["completion_tokens"]);
        CHECK(got.usage["prompt_tokens"] == usage["prompt_tokens"]);
      }
    }
  }
}

TEST_CASE("a streamed completion is the whole one; echo, several prompts and stops included") {
  const std::uint16_t port = shared_server("tale-gemma4").port();
  const Json body = {{"prompt", {"Once upon a time", "The fox"}},
                     {"max_tokens", 20},
                     {"seed", 3},
                     {"temperature", 1},
                     {"echo", true},
                     {"logprobs", 2},
                     {"n", 2}};
  const Json whole = http_post(port, "/v1/completions", body).json();
  REQUIRE(whole["choices"].size() == 4);
  CHECK(whole["choices"][0]["text"].get<std::string>().starts_with("Once upon a time"));
  CHECK(whole["choices"][2]["text"].get<std::string>().starts_with("The fox"));
  CHECK(whole["choices"][0]["logprobs"]["token_logprobs"][0].is_null());
  Json request = body;
  request["stream"] = true;
  std::vector<std::string> texts(4);
  std::vector<std::size_t> tokens(4);
  for (const std::string& data : event_data(http_post(port, "/v1/completions", request).body)) {
    if (data == "[DONE]") continue;
    const Json chunk = Json::parse(data);
    for (const Json& choice : chunk["choices"]) {
      texts.at(choice["index"]) += choice["text"].get<std::string>();
      if (!choice["logprobs"].is_null()) tokens.at(choice["index"]) += choice["logprobs"]["tokens"].size();
    }
  }
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(texts[i] == whole["choices"][i]["text"]);
    CHECK(tokens[i] == whole["choices"][i]["logprobs"]["tokens"].size());
  }
}

TEST_CASE("a stop string ends the text before it, or behind it when asked") {
  const std::uint16_t port = shared_server("tale-gemma4").port();
  Json body = {{"prompt", "Once upon a time"}, {"max_tokens", 30}, {"temperature", 0}};
  const std::string all = http_post(port, "/v1/completions", body).json()["choices"][0]["text"];
  REQUIRE(all.size() > 12);
  const std::string stop = all.substr(8, 3);
  body["stop"] = stop;
  const Json cut = http_post(port, "/v1/completions", body).json()["choices"][0];
  CHECK(cut["text"] == all.substr(0, all.find(stop)));
  CHECK(cut["finish_reason"] == "stop");
  CHECK(cut["stop_reason"] == stop);
  body["include_stop_str_in_output"] = true;
  CHECK(http_post(port, "/v1/completions", body).json()["choices"][0]["text"] ==
        all.substr(0, all.find(stop)) + stop);
}

TEST_CASE("eight streams at once equal their solo runs") {
  const std::uint16_t port = shared_server("tale-qwen3_5").port();
  std::vector<std::string> solo(8), together(8);
  const auto ask = [&](int i) {
    return join_chat(http_post(port, "/v1/chat/completions",
                               streamed(chat_body("Tell me about number " + std::to_string(i), i, 16 + i)))
                         .body);
  };
  for (int i = 0; i < 8; ++i) {
    const Joined got = ask(i);
    solo[std::size_t(i)] = got.reasoning + "|" + got.content;
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      const Joined got = ask(i);
      together[std::size_t(i)] = got.reasoning + "|" + got.content;
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < 8; ++i) CHECK(solo[i] == together[i]);
}

TEST_CASE("a streamed answer of the Messages API is the whole one, in blocks that never interleave") {
  for (const char* name : kTaleNames) {
    CAPTURE(name);
    const std::uint16_t port = shared_server(name).port();
    Json body = chat_body("Tell me a story.", 4, 40);
    const Json whole = http_post(port, "/v1/messages", body).json();
    REQUIRE(whole["type"] == "message");
    body["stream"] = true;
    std::string text, thinking, stop;
    int open = -1;
    std::vector<std::string> types;
    for (const std::string& data : event_data(http_post(port, "/v1/messages", body).body)) {
      const Json event = Json::parse(data);
      const std::string type = event["type"];
      types.push_back(type);
      if (type == "content_block_start") {
        CHECK(open == -1);
        open = event["index"];
      }
      if (type == "content_block_stop") {
        CHECK(event["index"] == open);
        open = -1;
      }
      if (type == "content_block_delta") {
        CHECK(event["index"] == open);
        text += event["delta"].value("text", "");
        thinking += event["delta"].value("thinking", "");
      }
      if (type == "message_delta") {
        stop = event["delta"]["stop_reason"];
        CHECK(event["usage"]["output_tokens"] == whole["usage"]["output_tokens"]);
      }
    }
    CHECK(types.front() == "message_start");
    CHECK(types.back() == "message_stop");
    std::string whole_text, whole_thinking;
    for (const Json& block : whole["content"]) {
      whole_text += block.value("text", "");
      whole_thinking += block.value("thinking", "");
    }
    CHECK(text == whole_text);
    CHECK(thinking == whole_thinking);
    CHECK(stop == whole["stop_reason"]);
    const Json count = http_post(port, "/v1/messages/count_tokens", {{"messages", body["messages"]}}).json();
    CHECK(count["input_tokens"] ==
          whole["usage"]["input_tokens"].get<int>() + whole["usage"]["cache_read_input_tokens"].get<int>());
  }
}

TEST_CASE("a call that is cut is raw text of a whole answer; a stream has sent what it had") {
  const Json tool = {
      {"type", "function"},
      {"function",
       {{"name", "weather"},
        {"parameters",
         {{"type", "object"}, {"properties", {{"city", {{"type", "string"}}}}}, {"required", {"city"}}}}}}};
  for (const auto& [model, opening] : {std::pair("tale-gemma4", "<|tool_call>call:weather"),
                                       std::pair("tale-qwen3_5", "<tool_call>\n<function=weather>")}) {
    CAPTURE(model);
    const std::uint16_t port = shared_server(model).port();
    int cut = 0;
    for (int tokens = 1; tokens <= 24; ++tokens) {
      CAPTURE(tokens);
      Json body = chat_body("How is the weather in Bonn?", 1, tokens);
      body["tools"] = Json::array({tool});
      body["tool_choice"] = "required";
      body["reasoning_effort"] = "none";
      const Json whole = http_post(port, "/v1/chat/completions", body).json()["choices"][0];
      const Joined joined = join_chat(http_post(port, "/v1/chat/completions", streamed(body)).body);
      CHECK(joined.finish == whole["finish_reason"]);
      if (whole["message"].contains("tool_calls")) {
        CHECK(joined.arguments == whole["message"]["tool_calls"][0]["function"]["arguments"]);
        continue;
      }
      if (joined.arguments.empty()) continue;
      ++cut;
      CHECK(whole["message"]["content"].get<std::string>().find(opening) != std::string::npos);
      CHECK(joined.content.find(opening) == std::string::npos);
    }
    CHECK(cut > 0);
  }
}

}  // namespace lanner::test
