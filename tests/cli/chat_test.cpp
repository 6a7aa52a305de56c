// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <fstream>

#include "cli/command_run.h"
#include "io/json.h"
#include "io/temporary_folder.h"

namespace lanner::test {
namespace {

CommandRun chat(const std::string& model, const std::string& input,
                const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"chat", model, "--temp", "0", "-n", "40", "--no-think"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return lanner(arguments, input);
}

}  // namespace

TEST_CASE("chat answers each line of a pipe, and its output is the answers alone") {
  for (const char* name : {"tale-gemma4", "tale-qwen3_5"}) {
    const auto model = tale_model(name);
    if (!model) continue;
    CAPTURE(name);
    const CommandRun run = chat(*model, "What is the capital of Japan?\nWhat is 9 times 6?\n");
    CAPTURE(run.log);
    CHECK(run.exit_code == 0);
    CHECK(run.log.empty());
    CHECK(run.out.find("Tokyo") != std::string::npos);
    CHECK(run.out.find("54") != std::string::npos);
    CHECK(run.out.find('>') == std::string::npos);
  }
}

TEST_CASE("chat ends with its input") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  const CommandRun empty = chat(*model, "");
  CHECK(empty.exit_code == 0);
  CHECK(empty.out.empty());
  CHECK(chat(*model, "/quit\nWhat is 9 times 6?\n").out.empty());
}

TEST_CASE("chat remembers what was said until /reset, and the system prompt beyond it") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  const io::TemporaryFolder folder;
  const std::string saved = folder.path() / "chat.json";
  const CommandRun run = chat(*model, "/system Be brief.\nWhat is 9 times 6?\n/save " + saved +
                                          "\n/reset\n/think on\n/think off\n/stats\n/help\n");
  CAPTURE(run.log);
  CHECK(run.exit_code == 0);
  CHECK(run.log.find("tok/s") != std::string::npos);
  CHECK(run.log.find("/regenerate") != std::string::npos);
  const io::Json json = io::load_json(saved);
  CHECK(json["system"] == "Be brief.");
  REQUIRE(json["messages"].size() == 2);
  CHECK(json["messages"][0]["role"] == "user");
  CHECK(json["messages"][1]["role"] == "assistant");
  CHECK(json["messages"][1]["content"].get<std::string>() + "\n" == run.out);

  // A loaded conversation goes on as if it had been held here.
  const std::string whole =
      chat(*model, "/system Be brief.\nWhat is 9 times 6?\nWhat is the capital of Japan?\n").out;
  CHECK(run.out + chat(*model, "/load " + saved + "\nWhat is the capital of Japan?\n").out == whole);
}

TEST_CASE("/regenerate gives another answer in place of the last") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  const io::TemporaryFolder folder;
  const std::string saved = folder.path() / "chat.json";
  const CommandRun run = lanner({"chat", *model, "--temp", "1", "--seed", "5", "-n", "30"},
                                "Tell me a fairy tale.\n/regenerate\n/save " + saved + "\n");
  CHECK(run.exit_code == 0);
  const io::Json json = io::load_json(saved);
  REQUIRE(json["messages"].size() == 2);
  const std::string last = json["messages"][1]["content"];
  CHECK(run.out.ends_with(last + "\n"));
  CHECK(run.out.size() > last.size() + 1);
}

TEST_CASE("/regenerate says so when a loaded conversation has no message of the user") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  const io::TemporaryFolder folder;
  const std::string saved = folder.write("chat.json", R"([{"role": "assistant", "content": "Hello."}])");
  const CommandRun run = chat(*model, "/load " + saved + "\n/regenerate\n");
  CHECK(run.exit_code == 5);
  CHECK(run.log.ends_with("there is nothing to answer: the conversation has no message of the user\n"));
}

TEST_CASE("a script with an unknown command or a full context ends with exit code 5") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  CommandRun run = chat(*model, "/fly\n");
  CHECK(run.exit_code == 5);
  CHECK(is_one_error_line(run.log));
  run = chat(*model, "Tell me a fairy tale.\nAnd another one, please.\n", {"-c", "48", "-n", "-1"});
  CHECK(run.exit_code == 5);
  CHECK(run.log.find("the context is full") != std::string::npos);
  CHECK(run.log.find("/reset starts anew") != std::string::npos);
}

TEST_CASE("chat without a template says so at once") {
  const CommandRun run = lanner({"chat", golden_model("gemma4/g3_moe")}, "hi\n");
  CHECK(run.exit_code == 3);
  CHECK(is_one_error_line(run.log));
}

}  // namespace lanner::test
