// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>

#include "io/temporary_folder.h"
#include "server/http_client.h"
#include "server/test_server.h"

namespace lanner::test {
namespace {

/// A request, and the statuses it may get; 0 = the connection is closed without a response.
struct BadRequest {
  std::string bytes;
  std::vector<int> allowed;
};

const char* const kGenerating[] = {"/v1/chat/completions", "/v1/completions", "/v1/messages"};

Json good_body(const std::string& path) {
  Json body{{"max_tokens", 2}};
  if (path == "/v1/completions")
    body["prompt"] = "Once";
  else
    body["messages"] = {{{"role", "user"}, {"content", "Hi"}}};
  return body;
}

/// Values that are wrong in every field of a number, a string, a list or an object.
std::vector<std::string> wrong_values() {
  return {"{\"x\":[1e308]}", "[[[[[]]]]]", "\"\\u0000\"", "-1e300", "99999999999999999999999", "true"};
}

/// Every field of every route, with values of wrong types. Some values fit some fields: those may be served.
std::vector<BadRequest> wrong_fields() {
  std::vector<BadRequest> all;
  const std::vector<std::string> fields = {"temperature",
                                           "top_p",
                                           "top_k",
                                           "min_p",
                                           "n",
                                           "seed",
                                           "stop",
                                           "stop_token_ids",
                                           "max_tokens",
                                           "logit_bias",
                                           "stream_options",
                                           "repetition_penalty",
                                           "min_tokens",
                                           "priority",
                                           "timeout_ms",
                                           "cache",
                                           "prompt_logprobs",
                                           "presence_penalty"};
  for (const char* path : kGenerating)
    for (const std::string& field : fields)
      for (const std::string& value : wrong_values()) {
        std::string text = good_body(path).dump();
        text.back() = ',';
        text += "\"" + field + "\":" + value + "}";
        all.push_back({post_text(path, text), {400, 200}});
      }
  return all;
}

std::vector<BadRequest> wrong_bodies() {
  std::vector<BadRequest> all;
  const std::string deep_messages = "{\"messages\":" + std::string(5000, '[') + std::string(5000, ']') + "}";
  const std::string bodies[] = {
      "",
      "{:}",
      "[]",
      "5",
      "null",
      "\"text\"",
      std::string(100000, '['),
      std::string(100000, '{'),
      "{} trailing",
      "{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\"}]}",
      std::string("{\"a\":\"\0\"}", 9),
      std::string("\xff\xfe{\0}\0", 6),
      "{\"model\":\"\xc3\x28\"}",
      "{\"temperature\":1e400}",
      "{\"temperature\":NaN}",
      "{'messages':[]}",
      "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}",
      deep_messages,
      "{\"messages\":{}}",
      "{\"prompt\":{}}",
      "{\"prompt\":[[[1]]]}",
      "{\"prompt\":[-1]}",
      "{\"prompt\":[1.5]}",
      "{\"prompt\":[]}",
      "{\"messages\":[[]]}",
      "{\"messages\":[null]}",
      "{\"messages\":[{\"role\":\"user\"}],\"max_tokens\":1}",
      "{\"messages\":[{\"role\":\"__proto__\",\"content\":\"a\"}],\"max_tokens\":1}"};
  for (const char* path : {"/v1/chat/completions", "/v1/completions", "/v1/messages", "/tokenize",
                           "/detokenize", "/apply-template", "/v1/messages/count_tokens", "/v1/responses",
                           "/v1/embeddings", "/v1/state/save", "/v1/state/load"})
    for (const std::string& body : bodies) all.push_back({post_text(path, body), {400}});
  return all;
}

std::vector<BadRequest> wrong_http() {
  std::vector<BadRequest> all;
  const std::string host = "Host: x\r\n";
  const std::string post = "POST /tokenize HTTP/1.1\r\n" + host;
  const std::vector<std::string> refused = {
      "\r\n\r\n\r\nGARBAGE\r\n\r\n",
      "GET\r\n\r\n",
      "GET /health\r\n\r\n",
      "GET /health HTTP/9.9\r\n" + host + "\r\n",
      "GET /health HTTP/1.1\r\nBad Header: x\r\n\r\n",
      "GET /health HTTP/1.1\r\n: x\r\n\r\n",
      "GET /health HTTP/1.1\r\nX: a\x01z\r\n\r\n",
      "G\x01T /health HTTP/1.1\r\n\r\n",
      "GET /health HTTP/1.1\r\n\r\n",
      "GET /health HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
      "GET /health HTTP/1.1\r\nHost : x\r\n\r\n",
      "GET /health HTTP/1.1\r\n" + host + "Transfer-Encoding: identity\r\n\r\n",
      std::string("GET /health HTTP/1.1\r\nHo\0st: x\r\n\r\n", 35),
      "GET /hea\x7flth HTTP/1.1\r\n" + host + "\r\n",
      post + "Content-Length: -1\r\n\r\n",
      post + "Content-Length: abc\r\n\r\n",
      post + "Content-Length: 99999999999999999999999\r\n\r\n",
      post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n{\"a\":1}",
      post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}0\r\n\r\n",
      post + "Transfer-Encoding: xchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
      post + "Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked, identity\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
      post + "Transfer-Encoding: \x0b" + "chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
      post + "Transfer-Encoding : chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
      post + "X: a\r\n Transfer-Encoding: chunked\r\nContent-Length: x\r\n\r\n",
      "POST /tokenize HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
      post + "Content-Length: +2\r\n\r\n{}",
      post + "Content-Length: 0x2\r\n\r\n{}",
      post + "Content-Length: 2, 2\r\n\r\n{}",
      post + "Content-Length: 2\r\nContent-Length: 2, 3\r\n\r\n{}",
      post + "Content-Length: 18446744073709551617\r\n\r\n{}",
      post + "Content-Length:\r\n\r\n{}",
      "GET /health HTTP/1.1\r\n" + host + "X: " + std::string(100000, 'a') + "\r\n\r\n",
      "GET /" + std::string(100000, 'a') + " HTTP/1.1\r\n" + host + "\r\n",
      post + "Content-Length: 99999999\r\n\r\n{}",
      std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + std::string(50, '\x02') + "\r\n\r\n"};
  for (const std::string& bytes : refused) all.push_back({bytes, {400, 413, 431, 0}});
  for (const char* path : {"/..",
                           "/../etc/passwd",
                           "/%00",
                           "/v1/models/../../etc/passwd",
                           "/v1/models/%2e%2e%2f",
                           "//",
                           "/v1//chat",
                           "/v1/requests/..",
                           "/assets/../../x",
                           "/?q=../x",
                           "*",
                           "/..%2f..%2fetc/passwd",
                           "/%2e%2e/%2e%2e/etc/passwd",
                           "/..%c0%af..%c0%afetc/passwd",
                           "/....//....//etc/passwd",
                           "/v1/models/..%5c..%5cetc",
                           "/v1/responses/../../etc/passwd",
                           "http://other.example/health",
                           "//other.example/health",
                           "/v1/state/../../etc/passwd"})
    all.push_back({"GET " + std::string(path) + " HTTP/1.1\r\n" + host + "\r\n", {404, 400, 405, 200, 0}});
  for (const char* method : {"PUT", "PATCH", "TRACE", "CONNECT", "FOO", "post"})
    all.push_back(
        {std::string(method) + " /v1/chat/completions HTTP/1.1\r\n" + host + "Content-Length: 0\r\n\r\n",
         {405, 400, 0}});
  return all;
}

}  // namespace

TEST_CASE("hundreds of malformed requests get 4xx, never 5xx, and the server lives on") {
  TestServer::Options options;
  options.serving.http.max_body_bytes = 1 << 20;
  options.rules.pooling = engine::Pooling::kLast;
  const io::TemporaryFolder states;
  options.serving.service.state_folder = states.path();
  TestServer server("tale-gemma4", options);
  std::vector<BadRequest> all = wrong_fields();
  for (auto&& more : {wrong_bodies(), wrong_http()}) all.insert(all.end(), more.begin(), more.end());
  CHECK(all.size() >= 300);
  for (const BadRequest& bad : all) {
    CAPTURE(bad.bytes.substr(0, 400));
    Socket socket(server.port());
    socket.send(bad.bytes);
    const HttpReply reply = socket.reply();
    const bool allowed = std::ranges::find(bad.allowed, reply.status) != bad.allowed.end();
    CHECK_MESSAGE(allowed, "status ", reply.status, " ", reply.body);
    if (reply.status >= 400) CHECK(reply.json().contains("error"));
  }
  CHECK(http_post(server.port(), "/v1/completions", {{"prompt", "a"}, {"max_tokens", 1}}).status == 200);
}

TEST_CASE("a body that never comes, and half a header, hold nothing up: 408") {
  TestServer::Options options;
  options.serving.http.header_timeout = options.serving.http.body_timeout = std::chrono::milliseconds(200);
  options.serving.http.idle_timeout = std::chrono::milliseconds(200);
  TestServer server("tale-gemma4", options);
  Socket half(server.port());
  half.send("POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{\"pro");
  Socket header(server.port());
  header.send("GET /health HTT");
  Socket cut(server.port());
  cut.send("POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{\"pro");
  cut.shutdown_sending();
  Socket idle(server.port());
  for (Socket* late : {&half, &header}) {
    const HttpReply reply = late->reply();
    CHECK(reply.status == 408);
    CHECK(reply.header("connection") == "close");
    CHECK(reply.json()["error"]["code"] == "request_timeout");
    CHECK(late->receive(std::chrono::seconds(5)).empty());
  }
  for (Socket* socket : {&cut, &idle}) CHECK(socket->receive(std::chrono::seconds(5)).empty());
  CHECK(http_get(server.port(), "/health").status == 200);
}

TEST_CASE("a prompt that does not fit is refused on every route before the first byte") {
  TestServer& server = shared_server("tale-gemma4");
  const int context = http_get(server.port(), "/v1/models/tale").json()["context_window"];
  std::string words;
  for (int i = 0; i < context; ++i) words += " fox";
  for (const char* path : kGenerating)
    for (const bool stream : {false, true}) {
      CAPTURE(path);
      Json body{
          {"max_tokens", 1}, {"stream", stream}, {"messages", {{{"role", "user"}, {"content", words}}}}};
      if (std::string(path) == "/v1/completions") body["prompt"] = words;
      const HttpReply reply = http_post(server.port(), path, body);
      CHECK(reply.status == 400);
      if (std::string(path) != "/v1/messages")
        CHECK(reply.json()["error"]["code"] == "context_length_exceeded");
      CHECK(reply.body.find(std::to_string(context)) != std::string::npos);
    }
  CHECK(http_post(server.port(), "/v1/completions", {{"prompt", "a"}, {"max_tokens", context}}).status ==
        400);
}

}  // namespace lanner::test
