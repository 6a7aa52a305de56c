// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "cli/command_run.h"
#include "cli/exit_code.h"
#include "io/temporary_folder.h"

namespace lanner::test {
namespace {

void check_error(const std::vector<std::string>& arguments, int exit_code, const std::string& part) {
  const CommandRun run = lanner(arguments);
  CAPTURE(run.log);
  CHECK(run.exit_code == exit_code);
  CHECK(run.out.empty());
  CHECK(is_one_error_line(run.log));
  CHECK(run.log.find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("every kind of error has its exit code") {
  CHECK(cli::exit_code_of(ErrorKind::kInvalidArgument) == 5);
  CHECK(cli::exit_code_of(ErrorKind::kNotFound) == 3);
  CHECK(cli::exit_code_of(ErrorKind::kIo) == 3);
  CHECK(cli::exit_code_of(ErrorKind::kCorrupt) == 4);
  CHECK(cli::exit_code_of(ErrorKind::kUnsupported) == 4);
  CHECK(cli::exit_code_of(ErrorKind::kOutOfMemory) == 6);
  CHECK(cli::exit_code_of(ErrorKind::kInternal) == 70);
}

TEST_CASE("a folder that is missing or no checkpoint is exit code 3") {
  const io::TemporaryFolder folder;
  check_error({"run", "/nonexistent/folder", "-p", "x"}, 3, "/nonexistent/folder");
  check_error({"run", "org/name", "-p", "x"}, 3, "org/name");
  check_error({"info", folder.path()}, 3, "is empty");
}

TEST_CASE("a broken or foreign checkpoint is exit code 4") {
  const io::TemporaryFolder folder;
  folder.write("config.json", "{\"model_type\": \"llama\"}");
  folder.write("model.safetensors", std::string("\x02\0\0\0\0\0\0\0{}", 10));
  check_error({"info", folder.path()}, 4, "llama");
  folder.write("config.json", "{\"model_type\": ");
  check_error({"info", folder.path()}, 4, "config.json");
  folder.write("config.json", "{\"model_type\": \"gemma4\"}");
  folder.write("model.safetensors", "short");
  check_error({"info", folder.path()}, 4, "model.safetensors");
}

TEST_CASE("a checkpoint without tokenizer says so where text is needed") {
  const std::string model = golden_model("gemma4/g3_moe");
  check_error({"run", model, "-p", "x"}, 3, "tokenizer.json");
  check_error({"tokenize", model, "x"}, 3, "tokenizer.json");
  check_error({"perplexity", model, "-p", "x"}, 3, "tokenizer.json");
}

TEST_CASE("an unreadable prompt file is exit code 3, a prompt that is not UTF-8 exit code 5") {
  check_error({"run", "-f", "/nonexistent/prompt.txt"}, 3, "/nonexistent/prompt.txt");
  const io::TemporaryFolder folder;
  const std::string file = folder.write("prompt.txt", "caf\xe9 au lait");
  check_error({"run", "-f", file}, 5, "byte 3 is not UTF-8 (found 0xE9)");
}

TEST_CASE("a tools file that is no list of tools is exit code 4") {
  const io::TemporaryFolder folder;
  check_error({"run", "-p", "x", "--tools", folder.write("a.json", "[{\"type\": \"function\"}]")}, 4,
              "a.json");
  check_error({"run", "-p", "x", "--tools", folder.write("b.json", "[{]")}, 4, "b.json");
  check_error({"run", "-p", "x", "--tools", folder.write("c.json", "3")}, 4, "c.json");
}

}  // namespace lanner::test
