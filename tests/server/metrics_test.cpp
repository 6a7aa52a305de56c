// SPDX-License-Identifier: MIT
#include "server/metrics.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>

#include "server/http_client.h"
#include "server/test_server.h"

namespace lanner::server {

TEST_CASE("counters and histograms are exposed as Prometheus reads them") {
  static constexpr std::array kBounds = {1.0, 2.0, 3.0};
  Metrics metrics("a\"b");
  metrics.count("hits_total", "kind=\"x\"");
  metrics.count("hits_total", "kind=\"x\"", 2);
  metrics.observe("request_queue_time_seconds", 0.001);
  metrics.observe("request_queue_time_seconds", 1000);
  BucketCounts given(kBounds);
  given.add(2);
  const std::string text =
      metrics.expose({{.name = "level", .value = 0.5}}, {}, {{"given_seconds", "shape=\"y\"", given}});
  CHECK(text.find(
            "# TYPE lanner:hits_total counter\nlanner:hits_total{model_name=\"a\\\"b\",kind=\"x\"} 3\n") !=
        std::string::npos);
  CHECK(text.find("# TYPE lanner:level gauge\nlanner:level{model_name=\"a\\\"b\"} 0.5\n") !=
        std::string::npos);
  CHECK(text.find("_bucket{model_name=\"a\\\"b\",le=\"0.001\"} 1\n") != std::string::npos);
  CHECK(text.find("_bucket{model_name=\"a\\\"b\",le=\"160\"} 1\n") != std::string::npos);
  CHECK(text.find("_bucket{model_name=\"a\\\"b\",le=\"+Inf\"} 2\n") != std::string::npos);
  CHECK(text.find("_count{model_name=\"a\\\"b\"} 2\n") != std::string::npos);
  CHECK(text.find("# TYPE lanner:given_seconds histogram\n") != std::string::npos);
  for (const char* line : {"_bucket{model_name=\"a\\\"b\",shape=\"y\",le=\"1\"} 0\n",
                           "_bucket{model_name=\"a\\\"b\",shape=\"y\",le=\"2\"} 1\n",
                           "_bucket{model_name=\"a\\\"b\",shape=\"y\",le=\"+Inf\"} 1\n",
                           "_sum{model_name=\"a\\\"b\",shape=\"y\"} 2\n"})
    CHECK(text.find(std::string("lanner:given_seconds") + line) != std::string::npos);
}

TEST_CASE("a request that is refused is counted once, under its own reason") {
  test::TestServer::Options options;
  options.serving.api_keys = {"key"};
  options.rules.pooling = engine::Pooling::kLast;
  test::TestServer server("tale-gemma4", options);
  const auto counted = [&](const char* reason) {
    return test::http_get(server.port(), "/metrics", "x-api-key: key\r\n")
               .body.find(fmt::format(
                   "lanner:request_rejected_total{{model_name=\"tale\",reason=\"{}\"}} 1\n", reason)) !=
           std::string::npos;
  };
  test::http_post(server.port(), "/v1/completions", {{"prompt", "a"}});
  CHECK(counted("auth"));
  test::http_post(server.port(), "/v1/completions", {{"prompt", std::vector<int>(100000, 5)}},
                  "x-api-key: key\r\n");
  CHECK(counted("context_length"));
  CHECK_FALSE(counted("invalid"));
  test::http_post(server.port(), "/v1/completions", {{"prompt", 5}}, "x-api-key: key\r\n");
  CHECK(counted("invalid"));
  CHECK(counted("context_length"));
}

TEST_CASE("a server counts what it did under the names that dashboards know") {
  test::TestServer server("tale-gemma4");
  REQUIRE(test::http_post(server.port(), "/v1/completions",
                          {{"prompt", "Once"}, {"max_tokens", 4}, {"ignore_eos", true}})
              .status == 200);
  test::http_post(server.port(), "/v1/completions", {{"prompt", 5}});
  CHECK(server.metric("lanner:generation_tokens_total") == 4);
  CHECK(server.metric("lanner:request_success_total{model_name=\"tale\",finished_reason=\"length\"}") == 1);
  CHECK(server.metric("lanner:request_rejected_total{model_name=\"tale\",reason=\"invalid\"}") == 1);
  CHECK(server.metric("lanner:time_to_first_token_seconds_count") == 1);
  CHECK(server.metric("lanner:inter_token_latency_seconds_count") == 3);
  CHECK(server.metric("lanner:e2e_request_latency_seconds_count") == 1);
  // A response is counted once it has left, which its reader may see first.
  CHECK(test::eventually([&] {
    return server.metric("lanner:http_requests_total{model_name=\"tale\",handler=\"/v1/completions\"") == 2;
  }));
  CHECK(server.metric("lanner:num_requests_running") == 0);
  CHECK(server.metric("process_resident_memory_bytes") > 0);
}

TEST_CASE("steps are counted by what they compute") {
  test::TestServer server("tale-gemma4");
  REQUIRE(test::http_post(server.port(), "/v1/completions",
                          {{"prompt", "Once"}, {"max_tokens", 4}, {"ignore_eos", true}})
              .status == 200);
  const auto steps = [&](const std::string& shape) {
    return server.metric("lanner:steps_total{model_name=\"tale\",shape=\"" + shape + "\"}");
  };
  const double after_prompt = steps("decode") + steps("verify");
  CHECK(steps("prompt") == 1);
  CHECK(steps("mixed") == 0);
  CHECK(after_prompt >= 1);
  CHECK(after_prompt <= 3);
  CHECK(server.metric("lanner:step_seconds_count") == 1 + after_prompt);
  CHECK(server.metric("lanner:step_seconds_sum") > 0);
  CHECK(server.metric("lanner:iteration_tokens_total_count") == 1 + after_prompt);
  CHECK(server.metric("lanner:iteration_tokens_total_sum") >= 4);
  CHECK(server.metric("lanner:checkpoints_total") > 0);
}

TEST_CASE("caches are told apart by the kind of their layers, while they are held") {
  for (const bool recurrent : {false, true}) {
    test::TestServer server(recurrent ? "tale-qwen3_5" : "tale-gemma4");
    const auto of_kind = [&](const std::string& name, const std::string& kind) {
      return server.metric("lanner:" + name + "{model_name=\"tale\",kind=\"" + kind + "\"}");
    };
    const auto bytes = [&](const std::string& kind) { return of_kind("kv_cache_bytes", kind); };
    test::Socket socket(server.port());
    socket.send(test::post_text(
        "/v1/completions", test::Json{{"prompt", "Once"}, {"ignore_eos", true}, {"stream", true}}.dump()));
    REQUIRE(socket.wait_for("data: "));
    CHECK(bytes("full") > 0);
    CHECK((bytes("sliding") > 0) == !recurrent);
    CHECK((bytes("recurrent") > 0) == recurrent);
    const double usage = server.metric("lanner:kv_cache_usage_perc");
    CHECK(usage > 0);
    CHECK(usage < 1);
    socket.close();
    CHECK(test::eventually([&] { return server.metric("lanner:kv_cache_bytes") == 0; }));
    CHECK(server.metric("lanner:kv_cache_usage_perc") == 0);
    const char* const own = recurrent ? "recurrent" : "sliding";
    CHECK(of_kind("prefix_cache_bytes", "full") > 0);
    CHECK(of_kind("prefix_cache_bytes", own) > 0);
    CHECK(of_kind("state_checkpoint_bytes", "full") == 0);
    CHECK(of_kind("state_checkpoint_bytes", own) == of_kind("prefix_cache_bytes", own));
  }
}

TEST_CASE("grammars are timed when they compile, and each time they are asked") {
  test::TestServer server("tale-gemma4");
  const test::Json body = {
      {"prompt", "Once"}, {"max_tokens", 8}, {"structured_outputs", {{"choice", {"yes", "no"}}}}};
  for (int i = 0; i < 2; ++i) REQUIRE(test::http_post(server.port(), "/v1/completions", body).status == 200);
  CHECK(server.metric("lanner:grammar_compile_seconds_count") == 1);
  CHECK(server.metric("lanner:grammar_mask_seconds_count") >= 2);
  CHECK(server.metric("lanner:grammar_mask_seconds_sum") > 0);
}

}  // namespace lanner::server
