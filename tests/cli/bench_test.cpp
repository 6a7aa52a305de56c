// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "cli/command_run.h"
#include "io/json.h"

namespace lanner::test {

TEST_CASE("bench times every combination of size, depth, sequences and threads") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  CommandRun run = lanner({"bench", *model, "-p", "16", "-n", "2", "-b", "1,3", "-d", "0,5", "-t", "1,2",
                           "-r", "2", "--mixed", "8,2", "-o", "json"});
  CAPTURE(run.log);
  REQUIRE(run.exit_code == 0);
  const io::Json report = io::Json::parse(run.out);
  REQUIRE(report["tests"].size() == 2 * 2 * (1 + 2 + 2));
  CHECK(report["tests"][0]["test"] == "pp16");
  CHECK(report["tests"][2]["test"] == "tg2 x3");
  CHECK(report["tests"][4]["test"] == "pp8+tg2 x3");
  CHECK(report["tests"][6]["test"] == "tg2 @ d5");
  for (const io::Json& test : report["tests"]) {
    CHECK(test["tokens_per_second"].get<double>() > 0);
    CHECK(test["all_tokens_per_second"].size() == 2);
    CHECK_FALSE(test.contains("share_of_bound"));
  }
  run = lanner({"bench", *model, "-p", "4", "-n", "0", "-t", "1", "-r", "1", "--compute", "int8"});
  REQUIRE(run.exit_code == 0);
  CHECK(run.out.find("| pp4 ") != std::string::npos);
}

TEST_CASE(
    "bench --all-rows runs Gemma's layers without a cache for every prompt row, the head for the last") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  const auto work = [&](std::vector<std::string> options) {
    std::vector<std::string> arguments = {"bench", *model, "-p", "64", "-n", "0",  "--chunk",
                                          "48",    "-t",   "1",  "-r", "1",  "-o", "json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const CommandRun run = lanner(arguments);
    REQUIRE(run.exit_code == 0);
    const io::Json report = io::Json::parse(run.out);
    CHECK(report["all_rows"] == !options.empty());
    return report["tests"][0]["product_ops"].get<double>();
  };
  CHECK(work({"--all-rows"}) > 1.2 * work({}));
}

TEST_CASE("bench refuses a test that does not fit the context, and nothing to measure") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  CommandRun run = lanner({"bench", *model, "-p", "1025", "-n", "0"});
  CHECK(run.exit_code == 5);
  CHECK(is_one_error_line(run.log.substr(run.log.find("lanner: error"))));
  CHECK(lanner({"bench", *model, "-p", "0", "-n", "0"}).exit_code == 5);
  CHECK(lanner({"bench", *model, "--mixed", "5"}).exit_code == 5);
}

}  // namespace lanner::test
