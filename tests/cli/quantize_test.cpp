// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "cli/command_run.h"
#include "io/json.h"
#include "io/temporary_folder.h"

namespace lanner::test {

TEST_CASE("quantize writes a folder that the other commands read") {
  const io::TemporaryFolder folder;
  for (const char* name : {"gemma4/g1_e_ple_kvshare", "qwen3_5/q2_dense_grouped_untied"}) {
    CAPTURE(name);
    const std::string out = folder.path() / std::filesystem::path(name).filename();
    const CommandRun run = lanner({"quantize", golden_model(name), out, "--bits", "4", "--group", "32",
                                   "--override", "down_proj=8:32", "--json"});
    CAPTURE(run.log);
    REQUIRE(run.exit_code == 0);
    CHECK(io::Json::parse(run.out)["bits_per_weight"].get<double>() < 9);
    const io::Json info = io::Json::parse(lanner({"info", out, "--json"}).out);
    std::string formats;
    for (const io::Json& group : info["weights"]) formats += group["format"].get<std::string>() + "\n";
    CHECK(formats.find("affine 4-bit group 32") != std::string::npos);
    CHECK(formats.find("affine 8-bit group 32") != std::string::npos);
    CHECK(lanner({"logits", out, "--ids", "1,2,3", "-o", folder.path() / "logits.safetensors"}).exit_code ==
          0);
  }
}

TEST_CASE("quantize refuses an output that is in use and illegal formats") {
  const io::TemporaryFolder folder;
  folder.write("out/file", "x");
  CommandRun run = lanner({"quantize", golden_model("gemma4/g3_moe"), folder.path() / "out"});
  CHECK(run.exit_code == 5);
  CHECK(is_one_error_line(run.log));
  run = lanner(
      {"quantize", golden_model("gemma4/g3_moe"), folder.path() / "new", "--mode", "mxfp4", "--bits", "8"});
  CHECK(run.exit_code == 5);
  CHECK_FALSE(std::filesystem::exists(folder.path() / "new"));
}

}  // namespace lanner::test
