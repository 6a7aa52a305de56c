// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "server/http_client.h"
#include "server/test_server.h"

namespace lanner::test {
namespace {

const Json kSchema = {{"type", "object"},
                      {"properties", {{"city", {{"type", "string"}}}, {"days", {{"type", "integer"}}}}},
                      {"required", {"city", "days"}}};

Json common(int tokens) {
  return {{"seed", 1}, {"temperature", 1}, {"max_tokens", tokens}, {"max_output_tokens", tokens}};
}

/// An answer as far as all ways to send it must agree: parts in order.
using Parts = Json;

Json call_part(const Json& name, const Json& arguments) { return Json::array({"call", name, arguments}); }

Parts chat_parts(const Json& message, const Json& finish) {
  Parts parts = Json::array({finish, message.value("reasoning_content", Json(""))});
  parts.push_back(message["content"].is_null() ? Json("") : message["content"]);
  for (const Json& call : message.value("tool_calls", Json::array()))
    parts.push_back(call_part(call["function"]["name"], call["function"]["arguments"]));
  return parts;
}

Parts streamed_chat(const std::string& body) {
  std::string content, reasoning;
  Json calls = Json::array();
  Json finish;
  for (const std::string& data : event_data(body)) {
    if (data == "[DONE]") continue;
    const Json choice = Json::parse(data)["choices"][0];
    const Json& delta = choice["delta"];
    content += delta.value("content", "");
    reasoning += delta.value("reasoning_content", "");
    for (const Json& call : delta.value("tool_calls", Json::array())) {
      const auto index = call["index"].get<std::size_t>();
      if (index == calls.size()) calls.push_back(call_part(call["function"]["name"], ""));
      calls[index][2] = calls[index][2].get<std::string>() + call["function"]["arguments"].get<std::string>();
    }
    if (!choice["finish_reason"].is_null()) finish = choice["finish_reason"];
  }
  Parts parts = Json::array({finish, reasoning, content});
  for (const Json& call : calls) parts.push_back(call);
  return parts;
}

Parts message_parts(const Json& whole) {
  Parts parts = Json::array({whole["stop_reason"]});
  for (const Json& block : whole["content"]) {
    if (block["type"] == "tool_use")
      parts.push_back(call_part(block["name"], block["input"]));
    else
      parts.push_back({block["type"], block[block["type"].get<std::string>()]});
  }
  return parts;
}

Parts streamed_message(const std::string& body) {
  Json whole{{"stop_reason", nullptr}, {"content", Json::array()}};
  std::string input;
  for (const std::string& data : event_data(body)) {
    const Json event = Json::parse(data);
    if (event["type"] == "content_block_start") {
      whole["content"].push_back(event["content_block"]);
      input.clear();
    } else if (event["type"] == "content_block_delta") {
      const Json& delta = event["delta"];
      Json& block = whole["content"].back();
      input += delta.value("partial_json", "");
      for (const char* field : {"text", "thinking"})
        if (delta.contains(field))
          block[field] = block[field].get<std::string>() + delta[field].get<std::string>();
    } else if (event["type"] == "content_block_stop" && whole["content"].back()["type"] == "tool_use") {
      const Json parsed = Json::parse(input, nullptr, false);
      if (!parsed.is_discarded()) whole["content"].back()["input"] = parsed;
    } else if (event["type"] == "message_delta") {
      whole["stop_reason"] = event["delta"]["stop_reason"];
    }
  }
  return message_parts(whole);
}

Json without_ids(Json items) {
  for (Json& item : items) item.erase("id");
  return items;
}

Json streamed_items(const std::string& body) {
  Json items = Json::array();
  for (const std::string& data : event_data(body)) {
    const Json event = Json::parse(data);
    if (event["type"] == "response.output_item.done") items.push_back(event["item"]);
  }
  return without_ids(items);
}

/// Both ways to send the answer to `body`.
std::pair<HttpReply, HttpReply> both_ways(std::uint16_t port, const char* path, Json body) {
  HttpReply whole = http_post(port, path, body);
  body["stream"] = true;
  return {std::move(whole), http_post(port, path, body)};
}

}  // namespace

TEST_CASE("a call that max_tokens cuts is the same in a whole answer and in a stream, on every API") {
  const Json messages = {{{"role", "user"}, {"content", "How is the weather?"}}};
  for (const char* model : {"tale-gemma4", "tale-qwen3_5"})
    for (int tokens = 1; tokens <= 40; ++tokens) {
      const std::uint16_t port = shared_server(model).port();
      CAPTURE(model);
      CAPTURE(tokens);
      Json chat = common(tokens);
      chat["messages"] = messages;
      chat["tools"] = {{{"type", "function"}, {"function", {{"name", "weather"}, {"parameters", kSchema}}}}};
      chat["tool_choice"] = "required";
      const auto [chat_whole, chat_stream] = both_ways(port, "/v1/chat/completions", chat);
      REQUIRE(chat_whole.status == 200);
      const Json choice = chat_whole.json()["choices"][0];
      CHECK(chat_parts(choice["message"], choice["finish_reason"]) == streamed_chat(chat_stream.body));

      Json anthropic = common(tokens);
      anthropic["messages"] = messages;
      anthropic["tools"] = {{{"name", "weather"}, {"input_schema", kSchema}}};
      anthropic["tool_choice"] = {{"type", "any"}};
      const auto [message, message_stream] = both_ways(port, "/v1/messages", anthropic);
      REQUIRE(message.status == 200);
      CHECK(message_parts(message.json()) == streamed_message(message_stream.body));

      Json response = common(tokens);
      response["input"] = "How is the weather?";
      response["tools"] = {{{"type", "function"}, {"name", "weather"}, {"parameters", kSchema}}};
      response["tool_choice"] = "required";
      const auto [items, item_stream] = both_ways(port, "/v1/responses", response);
      REQUIRE(items.status == 200);
      CHECK(without_ids(items.json()["output"]) == streamed_items(item_stream.body));

      Json text = common(tokens);
      text["prompt"] = "How is the weather?";
      const auto [completion, completion_stream] = both_ways(port, "/v1/completions", text);
      std::string joined;
      for (const std::string& data : event_data(completion_stream.body))
        if (data != "[DONE]") joined += Json::parse(data)["choices"][0]["text"].get<std::string>();
      CHECK(completion.json()["choices"][0]["text"] == joined);
    }
}

}  // namespace lanner::test
