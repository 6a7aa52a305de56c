// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "cli/command_run.h"
#include "io/json.h"
#include "io/temporary_folder.h"

namespace lanner::test {
namespace {

/// Where the program finds the embedded models whose tokenizers it copies.
cli::Environment with_models() {
  cli::Environment environment;
  environment.models_folder = LANNER_MODELS_DIR;
  return environment;
}

}  // namespace

TEST_CASE("synth writes a folder that the other commands run") {
  const io::TemporaryFolder folder;
  const std::string out = folder.path() / "out";
  const std::string config = std::string(LANNER_MODELS_DIR) + "/tale-qwen3_5/config.json";
  CommandRun run = lanner({"synth", config, out, "--bits", "5", "--group", "32"}, {}, {}, with_models());
  CAPTURE(run.log);
  REQUIRE(run.exit_code == 0);
  run = lanner({"run", out, "-p", "Hello", "-n", "3", "--raw", "--temp", "0", "--json"});
  CAPTURE(run.log);
  REQUIRE(run.exit_code == 0);
  CHECK(io::Json::parse(run.out)["tokens"].size() <= 3);
}

TEST_CASE("synth names the sizes it knows when asked for another") {
  const io::TemporaryFolder folder;
  const CommandRun run = lanner({"synth", "gemma4-e3b", folder.path() / "out"}, {}, {}, with_models());
  CHECK(run.exit_code == 3);
  CHECK(is_one_error_line(run.log));
  CHECK(run.log.find("gemma4-e2b") != std::string::npos);
}

}  // namespace lanner::test
