// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <malloc.h>

#include <map>

#include "core/sanitizers.h"
#include "engine/test_models.h"
#include "server/http_client.h"
#include "server/messages_format.h"
#include "server/problem.h"
#include "server/request_ids.h"
#include "server/response_store.h"
#include "server/responses_format.h"
#include "server/responses_request.h"
#include "server/test_server.h"

namespace lanner::server {
namespace {

const RequestRules kResponsesRules{.model = "tale", .vocabulary = 100, .context = 256};

std::string refused_param(const Json& body) {
  try {
    read_responses_request(body, kResponsesRules, Json::array());
  } catch (const RequestError& error) {
    return error.problem().param;
  }
  return "served";
}

}  // namespace

TEST_CASE("items of the Responses API become turns of a chat") {
  const Json body = {
      {"instructions", "I"},
      {"input",
       {{{"role", "user"}, {"content", {{{"type", "input_text"}, {"text", "Q"}}}}},
        {{"type", "reasoning"}, {"content", {{{"type", "reasoning_text"}, {"text", "T"}}}}},
        {{"type", "function_call"}, {"call_id", "c"}, {"name", "f"}, {"arguments", "{}"}},
        {{"type", "function_call_output"}, {"call_id", "c"}, {"output", "R"}}}},
      {"tools", {{{"type", "function"}, {"name", "f"}}, {{"type", "web_search"}}}},
      {"text", {{"format", {{"type", "json_schema"}, {"name", "x"}, {"schema", {{"type", "object"}}}}}}},
      {"max_output_tokens", 7}};
  const ResponsesRequest request = read_responses_request(body, kResponsesRules, Json::array());
  const Json& messages = request.chat.input.messages;
  REQUIRE(messages.size() == 4);
  CHECK(messages[0] == Json{{"role", "system"}, {"content", "I"}});
  CHECK(messages[2]["reasoning_content"] == "T");
  CHECK(messages[2]["tool_calls"][0]["function"]["name"] == "f");
  CHECK(messages[3] == Json{{"role", "tool"}, {"tool_call_id", "c"}, {"content", "R"}});
  CHECK(request.items.size() == 3);
  CHECK(request.chat.input.tools.size() == 1);
  CHECK(request.chat.shape.kind == OutputShape::Kind::kJsonSchema);
  CHECK(request.chat.generation.request.max_tokens == 7U);
}

TEST_CASE("a Responses body that is wrong is refused with the field") {
  CHECK(refused_param(Json::object()) == "input");
  CHECK(refused_param({{"input", 5}}) == "input");
  CHECK(refused_param({{"input", Json::array()}}) == "input");
  CHECK(refused_param({{"input", {{{"type", "x"}}}}}) == "input[0].type");
  CHECK(refused_param({{"input", "a"}, {"max_output_tokens", 0}}) == "max_output_tokens");
  CHECK(refused_param({{"input", "a"}, {"text", {{"format", {{"type", "x"}}}}}}) == "text.format.type");
  CHECK(refused_param({{"input", "a"}, {"tools", {{{"type", "function"}}}}}) == "tools[0].name");
  CHECK(refused_param({{"input", "a"}, {"truncation", "x"}}) == "truncation");
  CHECK(refused_param({{"input", {{{"role", "user"}, {"content", {{{"type", "input_image"}}}}}}}}) ==
        "input[0].content[0].type");
}

TEST_CASE("stored responses last an hour, and the latest used stay when bytes are short") {
  auto now = std::chrono::steady_clock::time_point{};
  ResponseStore store(6000, [&] { return now; });
  const ResponseStore::Stored entry{std::string(1000, 'r'), std::string(1000, 'm')};
  store.put("a", entry);
  const std::size_t one = store.size_bytes();
  CHECK(one > 2000);
  CHECK(one < 2400);
  store.put("b", entry);
  CHECK(store.get("a"));
  store.put("c", entry);
  CHECK(store.get("a"));
  CHECK_FALSE(store.get("b"));
  CHECK(store.size_bytes() == 2 * one);
  CHECK(store.get("c")->response == entry.response);
  CHECK(store.get("c")->messages == entry.messages);
  CHECK(store.erase("c"));
  CHECK_FALSE(store.erase("c"));
  now += std::chrono::minutes(61);
  CHECK_FALSE(store.get("a"));
  CHECK(store.size_bytes() == 0);
  store.put("big", {std::string(6000, 'x'), ""});
  CHECK_FALSE(store.get("big"));
  store.put("old", entry);
  now += std::chrono::minutes(61);
  store.put("new", entry);
  CHECK(store.size_bytes() == one);
}

TEST_CASE("a stored response that was used late lasts no longer than its hour") {
  auto now = std::chrono::steady_clock::time_point{};
  ResponseStore store(6000, [&] { return now; });
  const ResponseStore::Stored entry{std::string(1000, 'r'), std::string(1000, 'm')};
  store.put("a", entry);
  const std::size_t one = store.size_bytes();
  now += std::chrono::minutes(30);
  store.put("b", entry);
  CHECK(store.get("a"));
  now += std::chrono::minutes(31);
  store.put("c", entry);
  CHECK(store.size_bytes() == 2 * one);
  CHECK(store.get("b"));
}

TEST_CASE("stored responses take as much of the heap as the store says") {
  if (kSanitizedMemory) {
    MESSAGE("skipped: a sanitizer keeps the heap, of which mallinfo2 knows nothing");
    return;
  }
  constexpr std::size_t kMost = std::size_t{8} << 20;
  const auto taken = [] {
    const struct mallinfo2 info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  for (const std::size_t size : {10, 3000, 200'000}) {
    CAPTURE(size);
    const std::size_t before = taken();
    ResponseStore store(kMost);
    for (std::size_t i = 0; i < 2 * kMost / (size + 300); ++i)
      store.put(random_id("resp_"), {std::string(size / 2, 'r'), std::string(size - size / 2, 'm')});
    const std::size_t after = taken();
    CHECK(store.size_bytes() <= kMost);
    CHECK(store.size_bytes() > kMost / 10 * 9);
    CHECK(after <= before + kMost + kMost / 64);  // what else this process does meanwhile
  }
}

TEST_CASE("a server stores answers as far as it is told to") {
  for (const std::size_t most : {std::size_t{0}, ResponseStore::kMostBytes}) {
    CAPTURE(most);
    test::TestServer::Options options;
    options.serving.service.response_store_bytes = most;
    const test::TestServer server("tale-gemma4", options);
    const Json answer =
        test::http_post(server.port(), "/v1/responses", {{"input", "Hi"}, {"max_output_tokens", 2}}).json();
    const auto shown = test::http_get(server.port(), "/v1/responses/" + answer["id"].get<std::string>());
    CHECK(shown.status == (most > 0 ? 200 : 404));
    CHECK((server.metric("lanner:response_store_bytes") > 0) == (most > 0));
  }
}

TEST_CASE("the items of a stream are those of its last event, also when a call is cut") {
  for (const char* name : test::kTaleNames) {
    CAPTURE(name);
    const std::uint16_t port = test::shared_server(name).port();
    const Json tool = {
        {"type", "function"},
        {"name", "look"},
        {"parameters",
         {{"type", "object"},
          {"properties", {{"where", {{"type", "string"}, {"minLength", 90}, {"maxLength", 99}}}}},
          {"required", {"where"}}}}};
    Json body = {{"input", "Look."},
                 {"tools", {tool}},
                 {"tool_choice", "required"},
                 {"reasoning", {{"effort", "none"}}},
                 {"include", {"message.output_text.logprobs"}},
                 {"seed", 4},
                 {"stream", true}};
    for (const int tokens : {4, 24, 40}) {
      CAPTURE(tokens);
      body["max_output_tokens"] = tokens;
      Json items = Json::array();
      Json added = Json::array();
      Json final;
      for (const std::string& data : test::event_data(test::http_post(port, "/v1/responses", body).body)) {
        const Json event = Json::parse(data);
        if (event["type"] == "response.output_item.added") added.push_back(event["item"]["id"]);
        if (event["type"] == "response.output_item.done") items.push_back(event["item"]);
        if (event.contains("response")) final = event["response"];
      }
      CHECK(final["status"] == "incomplete");
      CHECK(final["output"] == items);
      REQUIRE(added.size() == items.size());
      for (std::size_t i = 0; i < items.size(); ++i) CHECK(added[i] == items[i]["id"]);
      const std::string id = final["id"];
      CHECK(test::http_get(port, "/v1/responses/" + id).json() == final);
    }
  }
}

TEST_CASE("parts of an answer stand in the order they came in, each item with its own likelihoods") {
  using text::OutputEvent;
  using Kind = OutputEvent::Kind;
  const text::Tokenizer& tokenizer = test::tale("tale-gemma4")->tokenizer();
  Answer answer({.id = "resp_a", .prompt_tokens = {1}});
  TokenId next = 10;
  const auto token = [&](std::vector<OutputEvent> parts) {
    engine::TokenEvent event;
    event.id = next++;
    event.text = std::move(parts);
    event.logprob.emplace().token.id = event.id;
    answer.add(event, 0);
  };
  token({{.kind = Kind::kContent, .text = "a"}});
  token({{.kind = Kind::kContent, .text = "b"}});
  token({{.kind = Kind::kToolStart, .text = "f", .call = 0},
         {.kind = Kind::kToolArguments, .text = "{}", .call = 0},
         {.kind = Kind::kToolEnd, .call = 0}});
  token({{.kind = Kind::kContent, .text = "c"}});
  answer.add(engine::ChoiceEnd(), 0);
  const Json message = make_messages_format()->whole(answer);
  std::string order;
  for (const Json& block : message["content"]) order += block["type"].get<std::string>() + " ";
  CHECK(order == "text tool_use text ");
  const Json response = make_responses_format(tokenizer, {.logprobs = true})->whole(answer);
  order.clear();
  for (const Json& item : response["output"]) order += item["type"].get<std::string>() + " ";
  CHECK(order == "message function_call message ");
  CHECK(response["output"][0]["id"] != response["output"][2]["id"]);
  CHECK(response["output"][0]["content"][0]["text"] == "ab");
  CHECK(response["output"][2]["content"][0]["logprobs"].back()["id"] == 13);
  CHECK(response["output_text"] == "abc");
}

TEST_CASE("a streamed response is the whole one, and a conversation goes on from it") {
  for (const char* name : test::kTaleNames) {
    CAPTURE(name);
    const std::uint16_t port = test::shared_server(name).port();
    Json body = {{"input", "Tell me a story."}, {"seed", 4}, {"temperature", 1}, {"max_output_tokens", 40}};
    const Json whole = test::http_post(port, "/v1/responses", body).json();
    REQUIRE(whole["object"] == "response");
    body["stream"] = true;
    std::map<std::string, std::string> text;
    Json final;
    int next = 0;
    for (const std::string& data : test::event_data(test::http_post(port, "/v1/responses", body).body)) {
      const Json event = Json::parse(data);
      CHECK(event["sequence_number"] == next++);
      const std::string type = event["type"];
      if (type.ends_with(".delta")) text[type] += event["delta"].get<std::string>();
      if (type == "response.completed" || type == "response.incomplete") final = event["response"];
    }
    CHECK(text["response.output_text.delta"] == whole["output_text"]);
    CHECK(final["output_text"] == whole["output_text"]);
    CHECK(final["status"] == whole["status"]);
    for (const Json& item : whole["output"])
      if (item["type"] == "reasoning")
        CHECK(text["response.reasoning_text.delta"] == item["content"][0]["text"]);
    const std::string id = whole["id"];
    const Json again = {{"input", "And then?"}, {"previous_response_id", id}, {"max_output_tokens", 2}};
    const Json continued = test::http_post(port, "/v1/responses", again).json();
    CHECK(continued["usage"]["input_tokens"] > whole["usage"]["input_tokens"]);
    CHECK(test::http_get(port, "/v1/responses/" + id).json()["id"] == id);
    CHECK(test::http_get(port, "/v1/responses/resp_none").json()["error"]["code"] == "response_not_found");
  }
}

}  // namespace lanner::server
