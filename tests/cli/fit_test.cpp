// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>

#include "cli/command_run.h"
#include "io/json.h"
#include "io/temporary_folder.h"

namespace lanner::test {
namespace {

io::Json fit(std::vector<std::string> arguments, const cli::Environment& environment = {}) {
  arguments.insert(arguments.begin(), "fit");
  arguments.emplace_back("--json");
  const CommandRun run = lanner(arguments, {}, {}, environment);
  CAPTURE(run.log);
  REQUIRE(run.exit_code == 0);
  return io::Json::parse(run.out);
}

}  // namespace

TEST_CASE("fit says the same twice, and less memory for smaller keys and values") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  const std::string folder = *model;
  const io::Json facts = fit({folder, "--users", "3", "--ctx", "200", "--budget", "1"});
  CHECK(facts == fit({folder, "--users", "3", "--ctx", "200", "--budget", "1"}));
  CHECK(facts["fits"] == true);
  CHECK(facts["kv_types"] == "bf16");
  CHECK(facts["budget_bytes"] == 1'000'000'000);
  CHECK(facts["max_users"].get<int>() > 3);
  CHECK(facts["speed"].is_null());
  const io::Json small = fit({folder, "--users", "3", "--ctx", "200", "--budget", "1", "--kv-type", "q4"});
  CHECK(small["sequence"]["bytes"].get<int>() < facts["sequence"]["bytes"].get<int>() / 2);
  CHECK(small["max_users"].get<int>() > facts["max_users"].get<int>());
}

TEST_CASE("fit says no, and how much context would fit") {
  const std::string folder = golden_model("qwen3_5/q3_moe");
  const io::Json facts = fit({folder, "--budget", "0.018", "--step-tokens", "64", "--users", "1000"});
  CHECK(facts["fits"] == false);
  CHECK(facts["program_bytes"] == 12'000'000);
  CHECK(facts["prefix_cache_bytes"] == 0);
  CHECK(facts["max_context"].get<int>() == 0);
  const CommandRun text = lanner({"fit", folder, "--budget", "0.018", "--users", "1000"});
  CHECK(text.exit_code == 0);
  CHECK(text.out.starts_with("fits            no: "));
}

TEST_CASE("fit counts the program and its tokenizer") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  const std::string folder = *model;
  const io::Json facts = fit({folder, "--ctx", "100", "--budget", "1"});
  // 8192 tokens and their merges: a few hundred bytes each.
  CHECK(facts["program_bytes"].get<int>() > 12'500'000);
  CHECK(facts["program_bytes"].get<int>() < 15'000'000);
  const auto total = facts["total_bytes"].get<double>() / 1e9;
  CHECK(fit({folder, "--ctx", "100", "--budget", fmt::format("{:.6f}", total + 1e-4)})["fits"] == true);
  CHECK(fit({folder, "--ctx", "100", "--budget", fmt::format("{:.6f}", total - 1e-4)})["fits"] == false);
}

TEST_CASE("fit predicts speeds once bench has measured the machine") {
  const io::TemporaryFolder home;
  cli::Environment environment;
  environment.hub.xdg_cache_home = home.path().string();
  const auto model = tale_model("tale-qwen3_5");
  if (!model) return;
  const std::string folder = *model;
  const CommandRun bench = lanner({"bench", folder, "-p", "8", "-n", "0", "-r", "1", "-t", "1", "--roofline"},
                                  {}, {}, environment);
  CAPTURE(bench.log);
  REQUIRE(bench.exit_code == 0);
  CHECK(fit({folder, "-t", "1"}, environment)["speed"]["decode"].get<double>() > 0);
  CHECK(fit({folder, "-t", "2"}, environment)["speed"].is_null());
  std::ofstream(home.path() / "lanner" / "machine.json") << "{\"limits\": 3}";
  CHECK(fit({folder, "-t", "1"}, environment)["speed"].is_null());
}

TEST_CASE("fit names what is wrong with its input") {
  const std::string folder = golden_model("gemma4/g1_e_ple_kvshare");
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& part) {
    const CommandRun run = lanner(arguments);
    CAPTURE(run.log);
    CHECK(run.exit_code != 0);
    CHECK(run.out.empty());
    CHECK(run.log.find(part) != std::string::npos);
  };
  refused({"fit", "/nowhere/at/all"}, "/nowhere/at/all");
  refused({"fit", folder, "--budget", "0"}, "--budget");
  refused({"fit", folder, "--budget", "1e300"}, "--budget");
  refused({"fit", folder, "--users", "99999999999999999999"}, "--users");
  refused({"fit", folder, "--ctx", "0"}, "--ctx");
  refused({"fit", folder, "--ctx", "1000000000"}, "max_position_embeddings");
  refused({"fit", folder, "--kv-type", "q5"}, "--kv-type");
}

}  // namespace lanner::test
