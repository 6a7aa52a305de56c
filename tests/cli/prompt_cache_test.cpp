// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "cli/command_run.h"
#include "io/json.h"
#include "io/temporary_folder.h"

namespace lanner::test {
namespace {

/// run with --temp 1 and a fixed seed, as JSON.
CommandRun story(const std::filesystem::path& model, const std::string& prompt,
                 std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"run", model, "-p", prompt,   "--raw", "-n",
                                        "20",  "-t",  "1",  "--seed", "3",     "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  CommandRun run = lanner(arguments);
  CAPTURE(run.log);
  REQUIRE(run.exit_code == 0);
  return run;
}

std::string text_of(const CommandRun& run) { return io::Json::parse(run.out)["text"]; }

}  // namespace

TEST_CASE("run begins with the caches that an earlier run kept, and answers the same") {
  for (const char* name : {"tale-gemma4", "tale-qwen3_5"}) {
    const auto model = tale_model(name);
    if (!model) return;
    CAPTURE(name);
    const io::TemporaryFolder folder;
    const std::string file = folder.path() / "story.state";
    std::string prompt;
    for (int i = 0; i < 30; ++i) prompt += "The fox went over the hill " + std::to_string(i) + ". ";
    const std::string want = text_of(story(*model, prompt));
    CHECK(text_of(story(*model, prompt, {"--prompt-cache", file})) == want);
    REQUIRE(std::filesystem::exists(file));
    const auto written = std::filesystem::last_write_time(file);
    const CommandRun again = story(*model, prompt, {"--prompt-cache", file, "--prompt-cache-ro"});
    CHECK(text_of(again) == want);
    CHECK(io::Json::parse(again.out)["cached_tokens"].get<int>() + 1 ==
          io::Json::parse(again.out)["prompt_tokens"].get<int>());
    CHECK(std::filesystem::last_write_time(file) == written);
    const std::string longer = prompt + "Then";
    CHECK(text_of(story(*model, longer, {"--prompt-cache", file})) == text_of(story(*model, longer)));
  }
}

TEST_CASE("a chat goes on from the caches of an earlier one") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  const io::TemporaryFolder folder;
  const std::string file = folder.path() / "chat.state";
  const std::vector<std::string> arguments = {"chat", *model,           "-t", "1", "-n", "10", "--seed",
                                              "1",    "--prompt-cache", file};
  const CommandRun first = lanner(arguments, "Hello, fox\n");
  CAPTURE(first.log);
  CHECK(first.exit_code == 0);
  CHECK(first.log.find("tokens are kept in") != std::string::npos);
  const CommandRun second = lanner(arguments, "Hello, fox\n/stats\n");
  CHECK(second.out == first.out);
  CHECK(second.log.find("known") != std::string::npos);
}

TEST_CASE("a prompt cache that is damaged or of another model is refused by name") {
  const auto gemma = tale_model("tale-gemma4");
  const auto qwen = tale_model("tale-qwen3_5");
  if (!gemma || !qwen) return;
  const io::TemporaryFolder folder;
  const std::string file = folder.path() / "x.state";
  story(*gemma, "Once upon a time there was", {"--prompt-cache", file});
  const auto refused = [&](const std::filesystem::path& model, std::vector<std::string> more,
                           const char* part) {
    std::vector<std::string> arguments = {"run", model, "-p", "Once", "--raw", "-n", "1", "--prompt-cache",
                                          file};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CommandRun run = lanner(arguments);
    CAPTURE(run.log);
    CHECK(run.exit_code != 0);
    CHECK(is_one_error_line(run.log));
    CHECK(run.log.find("x.state") != std::string::npos);
    CHECK(run.log.find(part) != std::string::npos);
  };
  refused(*qwen, {}, "model");
  refused(*gemma, {"--kv-type", "q8"}, "keys and values");
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 10);
  refused(*gemma, {}, "x.state");
  std::ofstream(file) << "no state";
  refused(*gemma, {}, "x.state");
}

}  // namespace lanner::test
