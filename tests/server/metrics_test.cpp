// SPDX-License-Identifier: MIT
#include "server/metrics.h"

#include <doctest/doctest.h>

#include "server/http_client.h"
#include "server/test_server.h"

namespace lanner::server {

TEST_CASE("counters and histograms are exposed as Prometheus reads them") {
  Metrics metrics("a\"b");
  metrics.count("hits_total", "kind=\"x\"");
  metrics.count("hits_total", "kind=\"x\"", 2);
  metrics.observe("request_queue_time_seconds", 0.001);
  metrics.observe("request_queue_time_seconds", 1000);
  const std::string text = metrics.expose({{.name = "level", .value = 0.5}}, {});
  CHECK(text.find(
            "# TYPE lanner:hits_total counter\nlanner:hits_total{model_name=\"a\\\"b\",kind=\"x\"} 3\n") !=
        std::string::npos);
  CHECK(text.find("# TYPE lanner:level gauge\nlanner:level{model_name=\"a\\\"b\"} 0.5\n") !=
        std::string::npos);
  CHECK(text.find("_bucket{model_name=\"a\\\"b\",le=\"0.001\"} 1\n") != std::string::npos);
  CHECK(text.find("_bucket{model_name=\"a\\\"b\",le=\"160\"} 1\n") != std::string::npos);
  CHECK(text.find("_bucket{model_name=\"a\\\"b\",le=\"+Inf\"} 2\n") != std::string::npos);
  CHECK(text.find("_count{model_name=\"a\\\"b\"} 2\n") != std::string::npos);
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

}  // namespace lanner::server
