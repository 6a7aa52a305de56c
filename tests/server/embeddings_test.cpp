// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>

#include "server/base64.h"
#include "server/embedding_request.h"
#include "server/http_client.h"
#include "server/test_server.h"

namespace lanner::test {
namespace {

TestServer::Options embedding_options(engine::Pooling pooling) {
  TestServer::Options options;
  options.engine = {.threads = 2, .max_sequences = 3, .max_queue = 2};
  options.rules.pooling = pooling;
  return options;
}

Json vectors_of(const HttpReply& reply) {
  Json vectors = Json::array();
  const Json body = reply.json();
  for (const Json& entry : body["data"]) vectors.push_back(entry["embedding"]);
  return vectors;
}

}  // namespace

TEST_CASE("embeddings have length 1, in the order of the inputs, alone or among more than the queue holds") {
  for (const engine::Pooling pooling : {engine::Pooling::kLast, engine::Pooling::kMean}) {
    TestServer server("tale-gemma4", embedding_options(pooling));
    Json inputs = Json::array();
    for (int i = 0; i < 20; ++i)
      inputs.push_back("fox number " + std::string(static_cast<std::size_t>(i) + 1, 'x'));
    const HttpReply all = http_post(server.port(), "/v1/embeddings", {{"input", inputs}});
    REQUIRE(all.status == 200);
    const Json vectors = vectors_of(all);
    REQUIRE(vectors.size() == 20);
    CHECK(all.json()["object"] == "list");
    CHECK(all.json()["data"][7]["index"] == 7);
    CHECK(all.json()["model"] == "tale");
    int tokens = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const HttpReply alone = http_post(server.port(), "/v1/embeddings", {{"input", inputs[i]}});
      CHECK(vectors_of(alone)[0] == vectors[i]);
      tokens += alone.json()["usage"]["total_tokens"].get<int>();
      double squares = 0;
      for (const Json& value : vectors[i]) squares += value.get<double>() * value.get<double>();
      CHECK(std::abs(squares - 1) < 1e-5);
      if (i > 0) CHECK(vectors[i] != vectors[i - 1]);
    }
    CHECK(all.json()["usage"]["prompt_tokens"] == tokens);
  }
}

TEST_CASE("embeddings come from token ids, shortened, with an instruction, cut, or as base64") {
  TestServer server("tale-qwen3_5", embedding_options(engine::Pooling::kLast));
  const auto embed = [&](const Json& body) { return http_post(server.port(), "/v1/embeddings", body); };
  const Json ids = http_post(server.port(), "/tokenize", {{"prompt", "a fox"}}).json()["tokens"];
  const Json whole = vectors_of(embed({{"input", "a fox"}}))[0];
  CHECK(vectors_of(embed({{"input", ids}}))[0] == whole);
  CHECK(vectors_of(embed({{"input", {ids, ids}}}))[1] == whole);
  const Json short_vector = vectors_of(embed({{"input", "a fox"}, {"dimensions", 8}}))[0];
  REQUIRE(short_vector.size() == 8);
  for (std::size_t i = 0; i < 8; ++i)
    CHECK(short_vector[i].get<double>() / short_vector[0].get<double>() ==
          doctest::Approx(whole[i].get<double>() / whole[0].get<double>()).epsilon(1e-4));
  CHECK(vectors_of(embed({{"input", "fox"}, {"instruction", "find"}}))[0] ==
        vectors_of(embed({{"input", "Instruct: find\nQuery:fox"}}))[0]);
  const std::string text = vectors_of(embed({{"input", "a fox"}, {"encoding_format", "base64"}}))[0];
  std::vector<float> values;
  for (const Json& value : whole) values.push_back(value.get<float>());
  CHECK(text == server::base64(std::as_bytes(std::span(values))));
  const std::size_t context = http_get(server.port(), "/v1/models/tale").json()["context_window"];
  const Json too_long(context, ids[0]);
  const HttpReply refused = embed({{"input", {ids, too_long}}});
  CHECK(refused.status == 400);
  CHECK(refused.json()["error"]["code"] == "context_length_exceeded");
  CHECK(refused.json()["error"]["param"] == "input[1]");
  const HttpReply cut = embed({{"input", too_long}, {"truncate", true}});
  CHECK(cut.status == 200);
  CHECK(cut.json()["usage"]["prompt_tokens"] == context - 1);
}

TEST_CASE("base64 pads as RFC 4648 says") {
  const auto encode = [](std::string_view text) { return server::base64(std::as_bytes(std::span(text))); };
  CHECK(encode("").empty());
  CHECK(encode("f") == "Zg==");
  CHECK(encode("fo") == "Zm8=");
  CHECK(encode("foo") == "Zm9v");
  CHECK(encode("foobar") == "Zm9vYmFy");
  CHECK(encode("\xff\xfe\xfd") == "//79");
}

TEST_CASE("bad embedding requests are refused by field, and all where the model makes none") {
  CHECK(http_post(shared_server("tale-gemma4").port(), "/v1/embeddings", {{"input", "a"}}).status == 501);
  TestServer server("tale-gemma4", embedding_options(engine::Pooling::kLast));
  const auto refusal = [&](const Json& body) {
    const HttpReply reply = http_post(server.port(), "/v1/embeddings", body);
    CHECK(reply.status == 400);
    return reply.json()["error"]["code"].get<std::string>() + " " +
           reply.json()["error"]["param"].get<std::string>();
  };
  CHECK(refusal(Json::object()) == "missing_field input");
  CHECK(refusal({{"input", ""}}) == "invalid_value input");
  CHECK(refusal({{"input", {"a", ""}}}) == "invalid_value input[1]");
  CHECK(refusal({{"input", Json::array()}}) == "invalid_value input");
  CHECK(refusal({{"input", {{"a", 1}}}}) == "invalid_type input");
  CHECK(refusal({{"input", {"a", 1}}}) == "invalid_type input[1]");
  CHECK(refusal({{"input", {-1}}}) == "invalid_value input[0]");
  CHECK(refusal({{"input", std::vector<std::string>(2049, "a")}}) == "invalid_value input");
  CHECK(refusal({{"input", "a"}, {"dimensions", 0}}) == "invalid_value dimensions");
  CHECK(refusal({{"input", "a"}, {"encoding_format", "hex"}}) == "invalid_value encoding_format");
  CHECK(refusal({{"input", {1, 2}}, {"instruction", "x"}}) == "unsupported_value instruction");
  CHECK(refusal({{"input", "a"}, {"truncate", 1}}) == "invalid_type truncate");
}

TEST_CASE("an embedding whose client left makes room for others") {
  TestServer server("tale-gemma4", embedding_options(engine::Pooling::kLast));
  {
    Socket socket(server.port());
    const std::vector<std::string> many(500, "a fox and a hen and a goose in the long grass");
    socket.send(post_text("/v1/embeddings", Json{{"input", many}}.dump()));
    while (server.metric("lanner:num_requests_running") == 0) {
    }
  }
  CHECK(http_post(server.port(), "/v1/embeddings", {{"input", "a"}}).status == 200);
  while (server.metric("lanner:request_success_total{model_name=\"tale\",finished_reason=\"abort\"}") == 0) {
  }
}

}  // namespace lanner::test
