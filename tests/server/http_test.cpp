// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "engine/test_models.h"
#include "io/temporary_folder.h"
#include "server/http_client.h"
#include "server/test_server.h"

namespace lanner::test {
namespace {

using std::chrono::milliseconds;

Json long_story(bool stream) {
  return {{"messages", {{{"role", "user"}, {"content", "Tell me a long story."}}}},
          {"ignore_eos", true},
          {"max_tokens", 200},
          {"temperature", 1},
          {"seed", 1},
          {"stream", stream}};
}

double running(TestServer& server) { return server.metric("lanner:num_requests_running"); }

}  // namespace

TEST_CASE("one connection serves many requests, also sent ahead") {
  Socket socket(shared_server("tale-gemma4").port());
  const std::string get = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";
  for (int i = 0; i < 3; ++i) {
    REQUIRE(socket.send(get));
    const HttpReply reply = socket.reply();
    CHECK(reply.status == 200);
    CHECK(reply.json()["status"] == "ok");
  }
  REQUIRE(socket.send(get + get));
  CHECK(socket.reply().status == 200);
  CHECK(socket.reply().status == 200);
}

TEST_CASE("chunked bodies and Expect: 100-continue are understood") {
  const std::uint16_t port = shared_server("tale-gemma4").port();
  Socket socket(port);
  socket.send(
      "POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: "
      "chunked\r\n\r\n"
      "9\r\n{\"prompt\"\r\n8\r\n:\"abc\"} \r\n0\r\n\r\n");
  CHECK(socket.reply().json()["count"].get<int>() > 0);
  Socket patient(port);
  patient.send("POST /tokenize HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 15\r\n\r\n");
  CHECK(patient.receive().starts_with("HTTP/1.1 100"));
  patient.send("{\"prompt\":\"ab\"}");
  CHECK(patient.reply().status == 200);
}

TEST_CASE("the body is asked for only when the header has nothing against it, and never of HTTP/1.0") {
  TestServer::Options options;
  options.serving.api_keys = {"secret"};
  TestServer server("tale-gemma4", options);
  std::string expected = "100-continue";
  const auto answer = [&](const std::string& start, const std::string& headers) {
    Socket socket(server.port());
    socket.send(start + "\r\nHost: x\r\nExpect: " + expected + "\r\nContent-Length: 15\r\n" + headers +
                "\r\n");
    return socket.receive(milliseconds(500)).substr(0, 12);
  };
  const std::string key = "x-api-key: secret\r\n";
  CHECK(answer("POST /tokenize HTTP/1.1", key) == "HTTP/1.1 100");
  CHECK(answer("POST /tokenize HTTP/1.1", {}) == "HTTP/1.1 401");
  CHECK(answer("POST /nothing HTTP/1.1", key) == "HTTP/1.1 404");
  CHECK(answer("PUT /tokenize HTTP/1.1", key) == "HTTP/1.1 405");
  CHECK(answer("POST /tokenize HTTP/1.1", key + "Content-Type: text/plain\r\n") == "HTTP/1.1 415");
  CHECK(answer("POST /tokenize HTTP/1.0", key).empty());
  for (const char* other : {"wonders", "100-continue, wonders", "200-ok"}) {
    expected = other;
    CHECK(answer("POST /tokenize HTTP/1.1", key) == "HTTP/1.1 417");
    CHECK(answer("POST /tokenize HTTP/1.0", key).empty());
  }
}

TEST_CASE("a trailer counts for nothing and is no longer than a header may be") {
  TestServer::Options options;
  options.serving.api_keys = {"secret"};
  TestServer server("tale-gemma4", options);
  const auto post = [&](const std::string& headers, const std::string& trailer) {
    Socket socket(server.port());
    socket.send("POST /tokenize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n" + headers +
                "\r\nf\r\n{\"prompt\":\"ab\"}\r\n0\r\n" + trailer + "\r\n");
    return socket.reply();
  };
  const std::string key = "x-api-key: secret\r\n";
  CHECK(post({}, "Authorization: Bearer secret\r\n").status == 401);
  CHECK(post({}, "x-api-key: secret\r\n").status == 401);
  const HttpReply served =
      post(key, "X-Request-Id: late\r\nContent-Type: text/plain\r\nConnection: close\r\n");
  CHECK(served.status == 200);
  CHECK(served.header("x-request-id") != "late");
  CHECK(served.header("connection") != "close");
  std::string fields;
  while (fields.size() < 40000) fields += "X: y\r\n";
  CHECK(post(key, fields).status == 431);
  CHECK(post(key, "X: " + std::string(40000, 'y') + "\r\n").status == 431);
  Socket socket(server.port());
  socket.send("POST /tokenize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2;" +
              std::string(40000, 'e') + "\r\n{}\r\n0\r\n\r\n");
  CHECK(socket.reply().status == 431);
}

TEST_CASE("a target may name scheme and host, as a proxy's client sends it") {
  const std::uint16_t port = shared_server("tale-gemma4").port();
  for (const char* target : {"http://other.example/health", "HTTPS://other.example:80/health?a=http://b/c"})
    CHECK(http_get(port, target).json()["status"] == "ok");
  CHECK(http_get(port, "http://other.example").status == 200);
  CHECK(http_get(port, "http://other.example?a=/health").status == 200);
  CHECK(http_get(port, "ftp://other.example/health").status == 404);
}

TEST_CASE("bodies that are compressed or in another character set than UTF-8 get 415") {
  const std::uint16_t port = shared_server("tale-gemma4").port();
  const auto post = [&](const std::string& headers) {
    Socket socket(port);
    socket.send("POST /tokenize HTTP/1.1\r\nHost: x\r\n" + headers +
                "Content-Length: 15\r\n\r\n{\"prompt\":\"ab\"}");
    return socket.reply();
  };
  for (const char* good : {"", "Content-Type: application/json; charset=utf-8\r\n",
                           "Content-Type: APPLICATION/JSON ;a=b; Charset=\"UTF-8\"\r\n",
                           "Content-Type: application/json;\r\n", "Content-Encoding: identity\r\n"}) {
    CAPTURE(good);
    CHECK(post(good).status == 200);
  }
  for (const char* bad : {"Content-Type: application/json; charset=utf-16\r\n",
                          "Content-Type: application/json; a=b; CHARSET=latin1\r\n",
                          "Content-Encoding: gzip\r\n", "Content-Encoding: gzip, identity\r\n"}) {
    CAPTURE(bad);
    const HttpReply reply = post(bad);
    CHECK(reply.status == 415);
    CHECK(reply.json()["error"]["code"] == "unsupported_media_type");
  }
  CHECK(post("Content-Encoding: br\r\n").header("accept-encoding") == "identity");
}

TEST_CASE("every response carries the caller's request id, or a new one") {
  const std::uint16_t port = shared_server("tale-gemma4").port();
  CHECK(http_get(port, "/health", "X-Request-Id: my.id-1\r\n").header("x-request-id") == "my.id-1");
  const auto made = http_get(port, "/health", "X-Request-Id: bad id!\r\n").header("x-request-id");
  REQUIRE(made);
  CHECK(made->starts_with("req_"));
  CHECK(http_get(port, "/nothing").header("x-request-id"));
}

TEST_CASE("wrong addresses, methods and media types get 404, 405 and 415") {
  const std::uint16_t port = shared_server("tale-gemma4").port();
  CHECK(http_get(port, "/v1/nothing").json()["error"]["code"] == "not_found");
  const HttpReply wrong = http_get(port, "/v1/chat/completions");
  CHECK(wrong.status == 405);
  CHECK(wrong.header("allow") == "POST, OPTIONS");
  Socket socket(port);
  socket.send(
      "POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}");
  CHECK(socket.reply().status == 415);
  CHECK(http_get(port, "/").status == 200);
  CHECK(http_get(port, "/../../etc/passwd").status == 404);
  CHECK(http_get(port, "/%2e%2e/etc/passwd").status == 404);
}

TEST_CASE("the small routes tell what they promise") {
  const std::uint16_t port = shared_server("tale-gemma4").port();
  const Json models = http_get(port, "/v1/models").json();
  CHECK(models["data"][0]["id"] == "tale");
  CHECK(http_get(port, "/v1/models/tale").json()["context_window"].get<int>() > 0);
  CHECK(http_get(port, "/v1/models/else").status == 404);
  const Json tokens = http_post(port, "/tokenize", {{"content", "Hello, fox"}, {"with_pieces", true}}).json();
  std::string joined;
  Json ids = Json::array();
  for (const Json& token : tokens["tokens"]) {
    joined += token["piece"].get<std::string>();
    ids.push_back(token["id"]);
  }
  CHECK(joined == "Hello, fox");
  const Json text = http_post(port, "/detokenize", {{"tokens", ids}}).json();
  CHECK(text["content"] == "Hello, fox");
  CHECK(text["prompt"] == "Hello, fox");
  CHECK(http_post(port, "/detokenize", {{"tokens", {99999999}}}).status == 400);
  const Json chat = {{"messages", {{{"role", "user"}, {"content", "Hi"}}}}};
  const Json rendered = http_post(port, "/apply-template", chat).json();
  CHECK(rendered["prompt"].get<std::string>().find("Hi") != std::string::npos);
  CHECK(http_post(port, "/tokenize", chat).json()["tokens"] == rendered["tokens"]);
  const Json version = http_get(port, "/version").json();
  CHECK(version["version"] == "");
  CHECK(version["build"].get<std::string>().find(__VERSION__) != std::string::npos);
  CHECK(version["device"].is_string());
  CHECK(version["features"][0] == "reference");
  CHECK(http_get(port, "/stats").json()["model"] == "tale");
}

TEST_CASE("/fit answers by the plan that admission goes by, and names a bad number") {
  TestServer::Options options;
  options.engine.cache_bytes = std::size_t{64} << 20;
  TestServer server("tale-gemma4", options);
  const Json fit = http_get(server.port(), "/fit").json();
  CHECK(fit["users"] == options.engine.max_sequences);
  CHECK(fit["budget_bytes"].get<std::size_t>() == fit["weights"]["resident_bytes"].get<std::size_t>() +
                                                      fit["step"]["workspace_bytes"].get<std::size_t>() +
                                                      fit["step"]["sliding_bytes"].get<std::size_t>() +
                                                      *options.engine.cache_bytes);
  const Json one = http_get(server.port(), "/fit?users=1&ctx=100").json();
  CHECK(one["fits"] == true);
  CHECK(one["tokens"] == 100);
  const auto most = one["max_users"].get<std::size_t>();
  CHECK(most > 1);
  const auto fits = [&](std::size_t users) {
    return http_get(server.port(), fmt::format("/fit?users={}&ctx=100", users)).json()["fits"].get<bool>();
  };
  CHECK(fits(most));
  CHECK(!fits(most + 1));
  for (const char* query : {"users=0", "users=x", "ctx=99999999999999999999999", "ctx="}) {
    CAPTURE(query);
    const HttpReply reply = http_get(server.port(), std::string("/fit?") + query);
    CHECK(reply.status == 400);
    CHECK(reply.json()["error"]["code"] == "invalid_value");
  }
}

TEST_CASE("pages of listed origins may call, and read why they may not") {
  TestServer::Options options;
  options.serving.service.cors_origins = {"https://page.example"};
  options.serving.api_keys = {"secret", "second"};
  TestServer server("tale-gemma4", options);
  Socket socket(server.port());
  socket.send(
      "OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: x\r\nOrigin: https://page.example\r\n"
      "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization\r\n\r\n");
  const HttpReply preflight = socket.reply();
  CHECK(preflight.status == 204);
  CHECK(preflight.header("access-control-allow-origin") == "https://page.example");
  CHECK(preflight.header("access-control-allow-headers") == "authorization");
  const HttpReply locked = http_get(server.port(), "/v1/models", "Origin: https://page.example\r\n");
  CHECK(locked.status == 401);
  CHECK(locked.json()["error"]["code"] == "invalid_api_key");
  CHECK(locked.header("access-control-allow-origin") == "https://page.example");
  CHECK_FALSE(http_get(server.port(), "/health", "Origin: https://other.example\r\n")
                  .header("access-control-allow-origin"));
  CHECK(http_get(server.port(), "/health").status == 200);
  CHECK(http_get(server.port(), "/v1/models", "Authorization: Bearer secret\r\n").status == 200);
  CHECK(http_get(server.port(), "/v1/models", "x-api-key: second\r\n").status == 200);
  CHECK(http_get(server.port(), "/v1/models", "Authorization: Bearer secrex\r\n").status == 401);
  CHECK(http_post(server.port(), "/v1/messages", Json::object()).json()["error"]["type"] ==
        "authentication_error");
}

TEST_CASE("a key file is read again on request and kept when it is bad") {
  const io::TemporaryFolder folder;
  const auto file = folder.path() / "keys";
  const auto write = [&](const char* text) { std::ofstream(file) << text; };
  write("# keys\none\n\ntwo\n");
  server::ApiKeys keys({}, file);
  const auto allows = [&](const char* key) {
    server::HttpRequest request;
    request.headers = {{"X-Api-Key", key}};
    return keys.allow(request);
  };
  CHECK(allows("one"));
  CHECK(allows("two"));
  CHECK_FALSE(allows("# keys"));
  write("three\n");
  keys.reload();
  CHECK(allows("three"));
  CHECK_FALSE(allows("one"));
  for (const char* bad : {"# none\n", "good\n\x01\x02 junk\n", "two words\n"}) {
    write(bad);
    CHECK_THROWS(keys.reload());
  }
  CHECK(allows("three"));
}

TEST_CASE("an empty key is refused: an unset variable must not open the server") {
  CHECK_THROWS_WITH(server::ApiKeys({""}, std::nullopt), doctest::Contains("--api-key"));
  CHECK_THROWS_WITH(server::ApiKeys({"key"}, std::nullopt, {""}), doctest::Contains("--admin-key"));
}

TEST_CASE("until the model is there the server says that it loads") {
  TestServer server("");
  Json health = http_get(server.port(), "/health").json();
  CHECK(health["status"] == "loading");
  CHECK(health["progress"] == 0.0);
  server.serving().set_progress(0.25);
  health = http_get(server.port(), "/health").json();
  CHECK(health["progress"] == 0.25);
  const HttpReply early = http_post(server.port(), "/v1/chat/completions", long_story(false));
  CHECK(early.status == 503);
  CHECK(early.header("retry-after"));
  CHECK(early.json()["error"]["code"] == "loading");
  server.load("tale-gemma4");
  CHECK(http_get(server.port(), "/health").status == 200);
}

TEST_CASE("a client that leaves frees its place, streaming or not") {
  constexpr std::size_t kEndless = 1 << 16;  // tokens that take far longer than all of this
  TestServer server("", {.engine = {.threads = 1, .max_sequences = 2}});
  server.load(tale_of_context("tale-gemma4", kEndless));
  for (const bool stream : {true, false}) {
    CAPTURE(stream);
    std::vector<std::unique_ptr<Socket>> sockets;
    for (int i = 0; i < 4; ++i) {
      sockets.push_back(std::make_unique<Socket>(server.port()));
      Json body = long_story(stream);
      body.erase("max_tokens");
      sockets.back()->send(post_text("/v1/chat/completions", body.dump()));
    }
    if (stream) CHECK(sockets[0]->wait_for("data: "));
    CHECK(eventually([&] { return running(server) + server.metric("lanner:num_requests_waiting") == 4; }));
    sockets[1]->shutdown_sending();
    for (auto& socket : sockets) socket->close();
    CHECK(eventually(
        [&] { return running(server) == 0 && server.metric("lanner:num_requests_waiting") == 0; }));
  }
  CHECK(server.metric("lanner:request_success_total{model_name=\"tale\",finished_reason=\"abort\"") == 8);
  CHECK(http_post(server.port(), "/v1/completions", {{"prompt", "a"}, {"max_tokens", 1}}).status == 200);
}

TEST_CASE("a client that only ends its sending gets its answer, streaming or not") {
  TestServer server("tale-gemma4", {.engine = {.threads = 1, .max_sequences = 1}});
  for (const bool stream : {true, false}) {
    CAPTURE(stream);
    Socket busy(server.port());  // so that the other has to wait in the queue
    busy.send(post_text("/v1/chat/completions", long_story(true).dump()));
    REQUIRE(busy.wait_for("data: "));
    Socket half(server.port());
    half.send(post_text("/v1/chat/completions", long_story(stream).dump()));
    half.shutdown_sending();
    const HttpReply reply = half.reply();
    CHECK(reply.status == 200);
    CHECK(reply.complete);
    if (stream)
      CHECK(event_data(reply.body).back() == "[DONE]");
    else
      CHECK(reply.json()["usage"]["completion_tokens"] == 200);
    CHECK(half.receive(std::chrono::seconds(5)).empty());
    CHECK(busy.reply().complete);
  }
  CHECK(eventually([&] {
    return server.metric("lanner:request_success_total{model_name=\"tale\",finished_reason=\"length\"") == 4;
  }));
}

TEST_CASE("a reader that is too slow is dropped and counted, and nobody waits for it") {
  TestServer::Options options;
  options.serving.http.stream_buffer_bytes = 1 << 14;
  TestServer server("tale-gemma4", options);
  Socket slow(server.port());
  slow.set_receive_buffer(1024);
  Json body = long_story(true);
  body["max_tokens"] = 250;
  body["n"] = 8;
  body["logprobs"] = true;
  body["top_logprobs"] = 20;
  slow.send(post_text("/v1/chat/completions", body.dump()));
  CHECK(eventually([&] { return server.metric("lanner:slow_clients_dropped_total") == 1; },
                   std::chrono::seconds(20)));
  CHECK(eventually([&] { return running(server) == 0; }));
  CHECK(http_post(server.port(), "/v1/completions", {{"prompt", "a"}, {"max_tokens", 1}}).status == 200);
}

TEST_CASE("one event larger than a stream's buffer reaches a client that reads") {
  TestServer::Options options;
  options.serving.http.stream_buffer_bytes = 1 << 10;
  TestServer server("tale-gemma4", options);
  const Json body = {{"prompt", std::string(500, 'a')},
                     {"max_tokens", 4},
                     {"stream", true},
                     {"echo", true},
                     {"logprobs", 5}};
  const HttpReply reply = http_post(server.port(), "/v1/completions", body);
  CHECK(reply.complete);
  CHECK(event_data(reply.body).back() == "[DONE]");
  CHECK(server.metric("lanner:slow_clients_dropped_total") == 0);
}

TEST_CASE("empty lines between requests are passed over, whenever they come") {
  TestServer server("tale-gemma4");
  Socket socket(server.port());
  const std::string request = post_text("/tokenize", R"({"prompt":"a"})");
  socket.send(request + "\r\n");
  CHECK(socket.reply().status == 200);
  socket.send(request);
  CHECK(socket.reply().status == 200);
  socket.send("\r\n");
  socket.send("\r\n" + request + "\r\n" + request);
  CHECK(socket.reply().status == 200);
  CHECK(socket.reply().status == 200);
  for (const std::string_view part : {"\r", "\n\r", "\n"}) {
    socket.send(part);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  socket.send(request);
  CHECK(socket.reply().status == 200);
}

TEST_CASE("options at the ends of their ranges are no fault of the server") {
  TestServer server("tale-gemma4");
  for (const Json& options :
       {Json{{"frequency_penalty", 3.4e38}, {"repetition_penalty", 1.2e-38}, {"temperature", 0}},
        Json{{"frequency_penalty", -3.4e38}, {"dry_multiplier", 1e30}, {"dry_base", 1e30}},
        Json{{"temperature", 1e-39}, {"mirostat", 2}},
        Json{{"dynatemp_range", 1}, {"dynatemp_exponent", 15}, {"temperature", 1}}}) {
    Json body = {{"prompt", "the the the the the the the the the"}, {"max_tokens", 60}, {"seed", 1}};
    body.update(options);
    CAPTURE(body.dump());
    CHECK(http_post(server.port(), "/v1/completions", body).status == 200);
  }
}

TEST_CASE("a prompt of one token is echoed with its log-probabilities' place") {
  TestServer server("tale-gemma4");
  const Json body = {
      {"prompt", {5}}, {"max_tokens", 2}, {"echo", true}, {"logprobs", 1}, {"prompt_logprobs", 1}};
  const Json choice = http_post(server.port(), "/v1/completions", body).json()["choices"][0];
  CHECK(choice["logprobs"]["tokens"].size() == 3);
  CHECK(choice["logprobs"]["token_logprobs"][0].is_null());
  CHECK(choice["prompt_logprobs"] == Json::array({nullptr}));
}

TEST_CASE("a client that leaves is noticed although it had sent more than its request") {
  TestServer server("tale-gemma4");
  Json body = long_story(false);
  body.erase("max_tokens");
  for (const char* more : {"\r\n", "GET /health HTTP/1.1\r\nHost: a\r\n\r\n"}) {
    Socket socket(server.port());
    socket.send(post_text("/v1/chat/completions", body.dump()) + more);
    REQUIRE(eventually([&] { return running(server) == 1; }));
    socket.send("\r\n");
    socket.close();
    CHECK(eventually([&] { return running(server) == 0; }, std::chrono::seconds(2)));
  }
}

TEST_CASE("a completion shows the scores of its prompt where they are asked for") {
  TestServer server("tale-gemma4");
  Json body = {{"prompt", "Once upon a time"}, {"max_tokens", 1}};
  CHECK(!http_post(server.port(), "/v1/completions", body).json()["choices"][0].contains("prompt_logprobs"));
  body["prompt_logprobs"] = 2;
  const Json answer = http_post(server.port(), "/v1/completions", body).json();
  const Json& scores = answer["choices"][0]["prompt_logprobs"];
  REQUIRE(scores.size() == answer["usage"]["prompt_tokens"]);
  CHECK(scores[0].is_null());
  for (std::size_t i = 1; i < scores.size(); ++i) CHECK(scores[i]["top_logprobs"].size() == 2);
}

TEST_CASE("a whole answer that is read slowly but steadily arrives whole") {
  TestServer::Options options;
  options.serving.http.write_timeout = std::chrono::seconds(1);
  TestServer server("tale-gemma4", options);
  Socket slow(server.port());
  slow.set_receive_buffer(1 << 18);
  Json body = long_story(false);
  body["max_tokens"] = 250;
  body["n"] = 16;
  body["logprobs"] = true;
  body["top_logprobs"] = 20;
  slow.send(post_text("/v1/chat/completions", body.dump(), "Connection: close\r\n"));
  std::size_t bytes = 0;
  std::string tail;
  const auto begin = std::chrono::steady_clock::now();
  for (std::string part; !(part = slow.receive()).empty(); tail = part) {
    const std::size_t before = bytes;
    bytes += part.size();
    if (bytes / 200000 > before / 200000) std::this_thread::sleep_for(std::chrono::milliseconds(80));
  }
  CHECK(std::chrono::steady_clock::now() - begin > 2 * options.serving.http.write_timeout);
  CHECK(tail.ends_with("}"));
}

TEST_CASE("a full queue answers 429 at once, with a time to try again") {
  TestServer server("tale-gemma4", {.engine = {.threads = 1, .max_sequences = 1, .max_queue = 2}});
  std::vector<std::unique_ptr<Socket>> sockets;
  Json endless = long_story(true);
  endless.erase("max_tokens");
  for (int i = 0; i < 3; ++i) {
    sockets.push_back(std::make_unique<Socket>(server.port()));
    sockets.back()->send(post_text("/v1/chat/completions", endless.dump()));
    CHECK(eventually(
        [&] { return running(server) == 1 && server.metric("lanner:num_requests_waiting") == i; }));
  }
  const HttpReply refused = http_post(server.port(), "/v1/chat/completions", long_story(false));
  CHECK(refused.status == 429);
  CHECK(refused.header("retry-after"));
  CHECK(refused.json()["error"]["type"] == "rate_limit_error");
  CHECK(http_post(server.port(), "/v1/messages", long_story(false)).json()["error"]["type"] ==
        "rate_limit_error");
}

TEST_CASE("a running request can be cancelled by its id, and its stream says so") {
  TestServer& server = shared_server("tale-gemma4");
  Socket socket(server.port());
  socket.send(post_text("/v1/chat/completions", long_story(true).dump(), "X-Request-Id: stop-me\r\n"));
  REQUIRE(socket.wait_for("data: "));
  CHECK(http_get(server.port(), "/v1/requests").json()["data"][0]["id"] == "stop-me");
  Socket other(server.port());
  other.send("DELETE /v1/requests/stop-me HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(other.reply().status == 200);
  const HttpReply reply = socket.reply();
  CHECK(reply.complete);
  CHECK(reply.body.find("\"code\":\"cancelled\"") != std::string::npos);
  CHECK(reply.body.find("[DONE]") == std::string::npos);
  other.send("DELETE /v1/requests/stop-me HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(other.reply().status == 404);
}

TEST_CASE("thoughts of a running answer can be ended by its id") {
  TestServer& server = shared_server("tale-qwen3_5");
  Socket socket(server.port());
  Json body = long_story(true);
  body["reasoning_effort"] = "high";
  socket.send(post_text("/v1/chat/completions", body.dump(), "X-Request-Id: think\r\n"));
  REQUIRE(socket.wait_for("data: "));
  const auto control = [&](const char* id, const Json& what) {
    return http_post(server.port(), "/v1/chat/completions/" + std::string(id) + "/control", what).status;
  };
  CHECK(control("think", {{"action", "end_reasoning"}}) == 200);
  CHECK(control("think", {{"action", "dance"}}) == 400);
  CHECK(control("think", Json::object()) == 400);
  CHECK(control("other", {{"action", "end_reasoning"}}) == 404);
  CHECK(socket.reply().complete);
}

TEST_CASE("every response says where its time went") {
  const std::uint16_t port = shared_server("tale-gemma4").port();
  CHECK(http_get(port, "/health").header("server-timing")->starts_with("total;dur="));
  const HttpReply whole = http_post(port, "/v1/completions", {{"prompt", "a"}, {"max_tokens", 2}});
  CHECK(whole.header("server-timing")->find("prefill;dur=") != std::string::npos);
  const HttpReply stream =
      http_post(port, "/v1/completions", {{"prompt", "a"}, {"max_tokens", 2}, {"stream", true}});
  CHECK(stream.header("server-timing")->starts_with("total;dur="));
}

TEST_CASE("a deadline is an error, never a length") {
  const std::uint16_t port = shared_server("tale-gemma4").port();
  Json body = long_story(false);
  body["timeout_ms"] = 1;
  const HttpReply whole = http_post(port, "/v1/chat/completions", body);
  CHECK(whole.status == 504);
  CHECK(whole.json()["error"]["code"] == "deadline_exceeded");
  CHECK(http_post(port, "/v1/chat/completions", long_story(false), "X-Request-Timeout-Ms: x\r\n").status ==
        400);
}

TEST_CASE("the error in a stream of /v1/messages names the request") {
  const std::uint16_t port = shared_server("tale-gemma4").port();
  Socket socket(port);
  socket.send(post_text("/v1/messages", long_story(true).dump(), "X-Request-Id: mine\r\n"));
  REQUIRE(socket.wait_for("content_block_delta"));
  Socket other(port);
  other.send("DELETE /v1/requests/mine HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(other.reply().status == 200);
  const Json error = Json::parse(event_data(socket.reply().body).back());
  CHECK(error["type"] == "error");
  CHECK(error["request_id"] == "mine");
}

TEST_CASE("a silent stream is pinged") {
  TestServer::Options options;
  options.engine = {.threads = 1, .max_sequences = 1};
  options.serving.http.ping_interval = milliseconds(50);
  TestServer server("tale-gemma4", options);
  Socket busy(server.port());
  busy.send(post_text("/v1/chat/completions", long_story(true).dump()));
  REQUIRE(busy.wait_for("data: "));
  Socket waiting(server.port());
  waiting.send(post_text("/v1/chat/completions", long_story(true).dump()));
  CHECK(waiting.wait_for(": keepalive"));
}

TEST_CASE("a shutdown lets streams finish, refuses new work and ends; a short one ends them with an error") {
  for (const bool patient : {true, false}) {
    CAPTURE(patient);
    TestServer::Options options;
    options.serving.drain_timeout = patient ? std::chrono::seconds(60) : std::chrono::seconds(0);
    TestServer server("tale-gemma4", options);
    std::vector<std::unique_ptr<Socket>> sockets;
    for (int i = 0; i < 4; ++i) {
      sockets.push_back(std::make_unique<Socket>(server.port()));
      sockets.back()->send(post_text("/v1/chat/completions", long_story(i % 2 == 0).dump()));
    }
    REQUIRE(sockets[0]->wait_for("data: "));
    REQUIRE(eventually([&] { return running(server) == 4; }));
    server.serving().begin_shutdown();
    CHECK(http_get(server.port(), "/health").json()["status"] == "draining");
    CHECK(http_post(server.port(), "/v1/chat/completions", long_story(false)).status == 503);
    bool clean = false;
    std::thread waiter([&] { clean = server.serving().wait(); });
    for (int i = 0; i < 4; ++i) {
      const HttpReply reply = sockets[std::size_t(i)]->reply();
      CHECK(reply.complete);
      if (i % 2 == 0) CHECK((reply.body.find("[DONE]") != std::string::npos) == patient);
      if (i % 2 == 0 && !patient) CHECK(reply.body.find("\"error\"") != std::string::npos);
      if (i % 2 == 1) CHECK(reply.status == (patient ? 200 : 503));
    }
    waiter.join();
    CHECK(clean == patient);
  }
}

TEST_CASE("a server knows the signal that ended it, for its exit code") {
  for (const int signal : {SIGTERM, SIGINT}) {
    server::ServingOptions options;
    options.http.port = 0;
    std::ostringstream log;
    server::Serving serving(options, log);
    CHECK(serving.ended_by() == 0);
    REQUIRE(std::raise(signal) == 0);
    CHECK(serving.wait());
    CHECK(serving.ended_by() == signal);
  }
}

TEST_CASE("metrics that are off are an error like any other") {
  TestServer::Options options;
  options.serving.service.metrics = false;
  TestServer server("", options);
  const HttpReply reply = http_get(server.port(), "/metrics");
  CHECK(reply.status == 404);
  CHECK(reply.json()["error"]["code"] == "not_found");
}

TEST_CASE("top_logprobs is said to begin at 0, and -1 is taken for none") {
  const std::uint16_t port = shared_server("tale-gemma4").port();
  const auto answer = [&](int top) {
    return http_post(port, "/v1/chat/completions",
                     {{"messages", {{{"role", "user"}, {"content", "a"}}}},
                      {"max_tokens", 1},
                      {"logprobs", true},
                      {"top_logprobs", top}});
  };
  CHECK(answer(-2).json()["error"]["message"].get<std::string>().find("0 to 20") != std::string::npos);
  CHECK(answer(-2).json()["error"]["message"].get<std::string>().find("-1 to") == std::string::npos);
  CHECK(answer(-1).status == 200);
}

TEST_CASE("hundreds of idle connections cost nothing") {
  TestServer& server = shared_server("tale-gemma4");
  std::vector<std::unique_ptr<Socket>> idle;
  for (int i = 0; i < 200; ++i) idle.push_back(std::make_unique<Socket>(server.port()));
  CHECK(http_post(server.port(), "/v1/completions", {{"prompt", "a"}, {"max_tokens", 2}}).status == 200);
}

}  // namespace lanner::test
