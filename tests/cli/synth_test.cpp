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
  const std::string config = std::string(LANNER_MODELS_DIR) + "/tale-qwen3_5/config.json";
  for (const std::vector<std::string>& format : std::vector<std::vector<std::string>>{
           {"--bits", "5", "--group", "32"}, {"--mode", "nvfp4"}, {"--mode", "bf16"}}) {
    const io::TemporaryFolder folder;
    const std::string out = folder.path() / "out";
    std::vector<std::string> arguments = {"synth", config, out};
    arguments.insert(arguments.end(), format.begin(), format.end());
    CommandRun run = lanner(arguments, {}, {}, with_models());
    CAPTURE(run.log);
    REQUIRE(run.exit_code == 0);
    run = lanner({"run", out, "-p", "Hello", "-n", "3", "--raw", "--temp", "0", "--json"});
    CAPTURE(run.log);
    REQUIRE(run.exit_code == 0);
    CHECK(io::Json::parse(run.out)["tokens"].size() <= 3);
  }
}

TEST_CASE("synth refuses bits that a mode does not have") {
  const io::TemporaryFolder folder;
  const CommandRun run =
      lanner({"synth", "gemma4-e2b", folder.path() / "out", "--mode", "mxfp4", "--bits", "8"}, {}, {},
             with_models());
  CHECK(run.exit_code == 5);
  CHECK(is_one_error_line(run.log));
}

TEST_CASE("synth names the sizes it knows when asked for another") {
  const io::TemporaryFolder folder;
  const CommandRun run = lanner({"synth", "gemma4-e3b", folder.path() / "out"}, {}, {}, with_models());
  CHECK(run.exit_code == 3);
  CHECK(is_one_error_line(run.log));
  CHECK(run.log.find("gemma4-e2b") != std::string::npos);
}

}  // namespace lanner::test
