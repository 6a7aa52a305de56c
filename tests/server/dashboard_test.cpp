// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <chrono>
#include <fstream>
#include <regex>
#include <set>
#include <thread>

#include "server/http_client.h"
#include "server/test_server.h"

namespace lanner::test {
namespace {

Json dashboard() {
  std::ifstream file(LANNER_DEPLOY_DIR "/grafana-dashboard.json");
  return Json::parse(file);
}

/// What the panels ask Prometheus for.
std::vector<std::string> queries(const Json& dashboard) {
  std::vector<std::string> all;
  for (const Json& panel : dashboard.at("panels"))
    for (const Json& target : panel.at("targets")) all.push_back(target.at("expr").get<std::string>());
  return all;
}

std::set<std::string> matches(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at)
    found.insert(at->size() > 1 ? (*at)[1].str() : at->str());
  return found;
}

/// The first sample of `name` in `metrics`, with its labels; empty when there is none.
std::string sample_of(const std::string& name, const std::string& metrics) {
  for (const char* next : {"{", " "})
    if (const std::size_t at = metrics.find("\n" + name + next); at != std::string::npos)
      return metrics.substr(at + 1, metrics.find('\n', at + 1) - at - 1);
  return {};
}

}  // namespace

TEST_CASE("every metric and label that the dashboard asks for is served") {
  TestServer server("tale-gemma4");
  REQUIRE(http_post(server.port(), "/v1/completions", {{"prompt", "Once"}, {"max_tokens", 4}}).status == 200);
  // A response is counted once it has left, which its reader may see first.
  for (int i = 0; i < 1000 && server.metric("lanner:http_requests_total") == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const std::string metrics = "\n" + http_get(server.port(), "/metrics").body;
  const Json board = dashboard();
  std::vector<std::string> asked = queries(board);
  REQUIRE(asked.size() > 20);
  asked.push_back("lanner:http_requests_total by (model_name)");  // what the choice of models lists
  REQUIRE(board.at("templating").dump().find("label_values(lanner:http_requests_total, model_name)") !=
          std::string::npos);
  for (const std::string& query : asked) {
    CAPTURE(query);
    const std::set<std::string> names = matches(query, "(?:lanner:|process_)[a-z0-9_]+");
    REQUIRE(!names.empty());
    for (const std::string& name : names) {
      CAPTURE(name);
      const std::string sample = sample_of(name, metrics);
      REQUIRE(!sample.empty());
      if (name.starts_with("lanner:")) CHECK(sample.find("model_name=\"tale\"") != std::string::npos);
      for (const std::string& labels : matches(query, "by \\(([a-z_, ]+)\\)"))
        for (const std::string& label : matches(labels, "[a-z_]+"))
          CHECK(sample.find(label + "=\"") != std::string::npos);
    }
  }
}

TEST_CASE("rare events are counted from zero, so that the first one is seen to grow") {
  TestServer server("tale-gemma4");
  const std::string metrics = http_get(server.port(), "/metrics").body;
  for (const char* sample :
       {"lanner:slow_clients_dropped_total{model_name=\"tale\"} 0\n",
        "lanner:request_rejected_total{model_name=\"tale\",reason=\"queue_full\"} 0\n",
        "lanner:request_success_total{model_name=\"tale\",finished_reason=\"error\"} 0\n"})
    CHECK(metrics.find(sample) != std::string::npos);
}

TEST_CASE("the panels of the dashboard have their own ids and places") {
  std::set<int> ids;
  std::set<std::pair<int, int>> places;
  const Json board = dashboard();
  for (const Json& panel : board.at("panels")) {
    CHECK(ids.insert(panel.at("id").get<int>()).second);
    CHECK(places.insert({panel.at("gridPos").at("x").get<int>(), panel.at("gridPos").at("y").get<int>()})
              .second);
  }
}

}  // namespace lanner::test
