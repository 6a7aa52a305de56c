// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "cli/command_run.h"
#include "io/json.h"
#include "io/temporary_folder.h"

namespace lanner::test {
namespace {

/// Tokenizer and template ship without weights too.
std::string tokenizer_folder(const char* name) { return std::string(LANNER_MODELS_DIR) + "/" + name; }

std::string trimmed(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

TEST_CASE("tokenize gives ids that decode to the text") {
  for (const char* name : {"tale-gemma4", "tale-qwen3_5"}) {
    CAPTURE(name);
    const std::string folder = tokenizer_folder(name);
    const std::string text = "Once upon a time, naïve 漢 🦊";
    const CommandRun ids = lanner({"tokenize", folder, text});
    CAPTURE(ids.log);
    REQUIRE(ids.exit_code == 0);
    CHECK(ids.out.find_first_not_of("0123456789,\n") == std::string::npos);
    const CommandRun back = lanner({"tokenize", folder, "--decode", trimmed(ids.out)});
    CHECK(back.out == text + "\n");
  }
}

TEST_CASE("every source of the text gives the same ids") {
  const std::string folder = tokenizer_folder("tale-gemma4");
  const io::TemporaryFolder files;
  const std::string file = files.write("text.txt", "a fox\n");
  const std::string want = lanner({"tokenize", folder, "a fox"}).out;
  CHECK(lanner({"tokenize", folder, "-p", "a fox"}).out == want);
  CHECK(lanner({"tokenize", folder, "-f", file}).out == want);
  CHECK(lanner({"tokenize", folder, "-f", "-"}, "a fox\n").out == want);
  CHECK(lanner({"tokenize", folder, "-"}, "a fox\n").out == want);
  CHECK(lanner({"tokenize", folder}, "a fox\n").out == want);
  CHECK(lanner({"tokenize", folder, "a fox", "-p", "twice"}).exit_code == 2);
}

TEST_CASE("a text may come through a named pipe, as shells pass <(command)") {
  const std::string folder = tokenizer_folder("tale-gemma4");
  const io::TemporaryFolder files;
  const std::string pipe = (files.path() / "pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::thread writer([&] { std::ofstream(pipe) << "a fox\n"; });
  const CommandRun run = lanner({"tokenize", folder, "-f", pipe});
  writer.join();
  CHECK(run.out == lanner({"tokenize", folder, "a fox"}).out);
}

TEST_CASE("ids without a token are refused, not left out of the text") {
  const CommandRun run = lanner({"tokenize", tokenizer_folder("tale-gemma4"), "--decode", "2, 99999"});
  CHECK(run.exit_code == 5);
  CHECK(is_one_error_line(run.log));
  CHECK(run.log.find("token id 99999 is outside the vocabulary, expected 0 to 8191") != std::string::npos);
}

TEST_CASE("tokenize prints pieces and JSON, with bos or the chat template around") {
  const std::string folder = tokenizer_folder("tale-gemma4");
  const io::Json plain = io::Json::parse(lanner({"tokenize", folder, "a fox", "--json"}).out);
  CHECK(plain["count"] == plain["ids"].size());
  CHECK(plain["pieces"].size() == plain["ids"].size());
  const io::Json bos = io::Json::parse(lanner({"tokenize", folder, "a fox", "--json", "--bos"}).out);
  CHECK(bos["pieces"][0] == "<bos>");
  CHECK(bos["ids"].size() == plain["ids"].size() + 1);
  const io::Json chat = io::Json::parse(lanner({"tokenize", folder, "a fox", "--json", "--chat"}).out);
  CHECK(chat["pieces"][0] == "<bos>");
  CHECK(chat["pieces"][1] == "<|turn>");
  CHECK(lanner({"tokenize", folder, "a", "--pieces"}).out.find('\t') != std::string::npos);
}

TEST_CASE("markers that a user wrote are ordinary text inside a chat") {
  const std::string folder = tokenizer_folder("tale-gemma4");
  const io::Json chat = io::Json::parse(lanner({"tokenize", folder, "A<turn|>B", "--json", "--chat"}).out);
  std::size_t ends = 0;
  for (const io::Json& piece : chat["pieces"]) ends += piece == "<turn|>" ? 1 : 0;
  CHECK(ends == 1);
}

}  // namespace lanner::test
