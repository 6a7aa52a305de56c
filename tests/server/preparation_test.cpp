// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/http_client.h"
#include "server/test_server.h"

namespace lanner::test {
namespace {

/// A conversation whose rendering takes the Gemma template, quadratic in messages, a second or more.
Json long_conversation() {
  Json messages = Json::array();
  for (int i = 0; i < 1500; ++i) messages.push_back({{"role", "user"}, {"content", "x"}});
  return {{"messages", std::move(messages)}};
}

Json short_chat() { return {{"messages", {{{"role", "user"}, {"content", "Hi"}}}}, {"max_tokens", 2}}; }

/// Requests that the server lists.
std::size_t listed(const TestServer& server) {
  return http_get(server.port(), "/v1/requests").json()["data"].size();
}

/// More long conversations than a machine prepares at once, all of them under way.
std::vector<std::unique_ptr<Socket>> crowd(const TestServer& server) {
  std::vector<std::unique_ptr<Socket>> sockets;
  const std::string body = long_conversation().dump();
  const std::size_t count = 3 * std::max<std::size_t>(2, std::thread::hardware_concurrency());
  for (std::size_t i = 0; i < count; ++i) {
    sockets.push_back(std::make_unique<Socket>(server.port()));
    sockets.back()->send(
        post_text("/apply-template", body, "X-Request-Id: long-" + std::to_string(i) + "\r\n"));
  }
  REQUIRE(eventually([&] { return listed(server) >= count; }));
  return sockets;
}

}  // namespace

TEST_CASE("health, metrics and deadlines do not wait for long conversations that are being rendered") {
  TestServer server("tale-gemma4");
  auto sockets = crowd(server);
  CHECK(http_get(server.port(), "/health").status == 200);
  CHECK(http_get(server.port(), "/metrics").status == 200);
  Json late = short_chat();
  late["timeout_ms"] = 1;
  CHECK(http_post(server.port(), "/v1/chat/completions", late).status == 504);
  const HttpReply by_header =
      http_post(server.port(), "/tokenize", {{"prompt", "x"}}, "X-Request-Timeout-Ms: 1\r\n");
  CHECK(by_header.json()["error"]["code"] == "deadline_exceeded");
  CHECK(listed(server) > 1);  // what took the threads is still in work

  // Who leaves, and who is cancelled, is waited for no longer.
  const std::string last = "long-" + std::to_string(sockets.size() - 1);
  Socket other(server.port());
  other.send("DELETE /v1/requests/" + last + " HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(other.reply().status == 200);
  CHECK(sockets.back()->reply().json()["error"]["code"] == "cancelled");
  for (auto& socket : sockets) socket->close();
  CHECK(eventually([&] { return listed(server) == 0; }));
  Json invalid = short_chat();
  invalid["timeout_ms"] = "soon";
  CHECK(http_post(server.port(), "/v1/chat/completions", invalid).status == 400);
  CHECK(http_post(server.port(), "/v1/chat/completions", short_chat()).status == 200);
}

TEST_CASE("a shutdown answers requests that are still in preparation") {
  TestServer::Options options;
  options.serving.drain_timeout = std::chrono::milliseconds(0);
  TestServer server("tale-gemma4", options);
  const auto sockets = crowd(server);
  server.serving().begin_shutdown();
  CHECK_FALSE(server.serving().wait());
  std::size_t refused = 0;
  for (const auto& socket : sockets) {
    const HttpReply reply = socket->reply();
    CHECK(reply.complete);
    CHECK((reply.status == 200 || reply.status == 503));
    if (reply.status == 503) ++refused;
  }
  CHECK(refused > 0);
}

}  // namespace lanner::test
