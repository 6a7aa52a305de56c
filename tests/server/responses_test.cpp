// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <map>

#include "engine/test_models.h"
#include "server/http_client.h"
#include "server/problem.h"
#include "server/response_store.h"
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
  ResponseStore store([&] { return now; }, 60);
  const ResponseStore::Stored entry{Json("0123456789"), Json("0123456789")};  // 24 bytes
  store.put("a", entry);
  store.put("b", entry);
  CHECK(store.get("a"));
  store.put("c", entry);
  CHECK(store.get("a"));
  CHECK_FALSE(store.get("b"));
  CHECK(store.size_bytes() == 48);
  CHECK(store.erase("c"));
  CHECK_FALSE(store.erase("c"));
  now += std::chrono::minutes(61);
  CHECK_FALSE(store.get("a"));
  CHECK(store.size_bytes() == 0);
  store.put("big", {Json(std::string(100, 'x')), Json()});
  CHECK_FALSE(store.get("big"));
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
