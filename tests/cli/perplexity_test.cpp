// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>

#include "cli/command_run.h"
#include "io/json.h"
#include "io/temporary_folder.h"

namespace lanner::test {

TEST_CASE("perplexity prints what its JSON says") {
  const io::TemporaryFolder folder;
  const std::string story =
      "Once upon a time, long ago, the old queen of the land had a birthday. 'The one who brings the "
      "finest gift shall have a wish!' she said.\n";
  const std::string file = folder.write("text.txt", story);
  for (const char* name : {"tale-gemma4", "tale-qwen3_5"}) {
    const auto model = tale_model(name);
    if (!model) continue;
    CAPTURE(name);
    const CommandRun run = lanner({"perplexity", *model, "-f", file, "--json"});
    CAPTURE(run.log);
    REQUIRE(run.exit_code == 0);
    const io::Json json = io::Json::parse(run.out);
    CHECK(json["bytes"] == story.size());
    CHECK(json["perplexity"].get<double>() < 50);
    CHECK(json["perplexity"].get<double>() == doctest::Approx(std::exp(json["nll_per_token"].get<double>())));
    const double bits =
        json["nll_per_token"].get<double>() * json["scored_tokens"].get<double>() / std::log(2.0);
    CHECK(json["bits_per_byte"].get<double>() == doctest::Approx(bits / static_cast<double>(story.size())));
    const CommandRun text = lanner({"perplexity", *model, "-f", file});
    CHECK(text.out.starts_with("perplexity "));
    CHECK(text.out.find("bits per byte") != std::string::npos);
    CHECK(text.log.find('\r') == std::string::npos);
  }
}

TEST_CASE("perplexity --agreement finds exact arithmetic equal to itself and int8 close to it") {
  const io::TemporaryFolder folder;
  const std::string file =
      folder.write("text.txt", "Once upon a time there was a king who had three sons.\n");
  for (const char* name : {"tale-gemma4", "tale-qwen3_5"}) {
    const auto model = tale_model(name);
    if (!model) continue;
    CAPTURE(name);
    const auto agreement = [&](const char* compute) {
      const CommandRun run =
          lanner({"perplexity", *model, "-f", file, "--json", "--agreement", "--compute", compute});
      CAPTURE(run.log);
      REQUIRE(run.exit_code == 0);
      return io::Json::parse(run.out)["agreement"];
    };
    CHECK(agreement("exact")["mean_divergence"] == 0);
    CHECK(agreement("exact")["same_top_share"] == 1);
    CHECK(agreement("int8")["mean_divergence"].get<double>() < 0.05);
    CHECK(agreement("int8")["same_top_share"].get<double>() > 0.8);
  }
}

TEST_CASE("a chunk longer than the context is reported as what was used") {
  const auto model = tale_model("tale-qwen3_5");
  if (!model) return;
  const CommandRun run = lanner({"perplexity", *model, "-p", "a fox and a crow", "--chunk", "5000"});
  CHECK(run.out.find("chunks of 1024") != std::string::npos);
}

TEST_CASE("a text without tokens to score is exit code 5") {
  const auto model = tale_model("tale-qwen3_5");
  if (!model) return;
  const CommandRun run = lanner({"perplexity", *model}, "");
  CHECK(run.exit_code == 5);
  CHECK(is_one_error_line(run.log));
}

}  // namespace lanner::test
