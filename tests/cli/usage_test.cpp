// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "cli/command_run.h"

namespace lanner::test {

TEST_CASE("a wrong command line is one line on standard error and exit code 2") {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"fly"},
      {"--fast"},
      {"run", "-p", "x", "--tempp", "1"},
      {"run", "-p", "x", "--temp", "warm"},
      {"run", "-p", "x", "--temp", "-1"},
      {"run", "-p", "x", "--temp", "nan"},
      {"run", "-p", "x", "--top-p", "1.5"},
      {"run", "-p", "x", "--top-k", "2.5"},
      {"run", "-p", "x", "--seed", "-1"},
      {"run", "-p", "x", "--seed", "18446744073709551616"},
      {"run", "-p", "x", "-n", "abc"},
      {"run", "-p", "x", "-n", "0"},
      {"run", "-p", "x", "-n"},
      {"run", "-p", "x", "--threads", "0"},
      {"run", "-p", "x", "--isa", "mmx"},
      {"run", "-p", "x", "--logit-bias", "5"},
      {"run", "-p", "x", "--logit-bias", "5+1e400"},
      {"run", "-p", "x", "--logit-bias", "-5+1"},
      {"run", "-p", "x", "-f", "file"},
      {"run", "-p", "x", "--think", "--no-think"},
      {"run", "a", "b", "-p", "x"},
      {"run", "-p", "x", "--stop", ""},
      {"run", "", "-p", "x"},
      {"run", "-m", "", "-p", "x"},
      {"tokenize", "three", "loose", "words"},
      {"tokenize", "--decode", "1,,2"},
      {"tokenize", "--decode", "1,2,"},
      {"tokenize", "--decode", "4294967298"},
      {"logits", "folder", "--ids", "1", "-o", ""},
      {"logits", "folder", "--ids", "1"},
      {"logits", "folder", "--ids", "1,x", "-o", "out"},
      {"logits", "folder", "--ids", "1", "-o", "out", "--compute", "fast"},
      {"logits", "folder", "--ids", "1", "-p", "x", "-o", "out"},
      {"quantize", "folder"},
      {"quantize", "folder", "out", "--bits", "7"},
      {"quantize", "folder", "out", "--override", "x"},
      {"quantize", "folder", "out", "--override", "(=4"},
      {"quantize", "folder", "out", "--mode", "gguf"},
      {"perplexity", "folder", "-f", "file", "--chunk", "1"},
      {"completion", "csh"},
      {"serve", "folder", "--tls-cert", "c.pem"},
  };
  for (const auto& arguments : wrong) {
    std::string joined;
    for (const std::string& argument : arguments) joined += argument + " ";
    CAPTURE(joined);
    const CommandRun run = lanner(arguments);
    CAPTURE(run.log);
    CHECK(run.exit_code == 2);
    CHECK(run.out.empty());
    CHECK(is_one_error_line(run.log));
    CHECK(run.log.find("--help") != std::string::npos);
  }
}

TEST_CASE("a usage error names the option, the value and the help of its command") {
  const CommandRun run = lanner({"run", "-p", "x", "--temp", "warm"});
  CHECK(run.log == "lanner: error: --temp: \"warm\" is not a number from 0 to 100; see lanner run --help\n");
}

TEST_CASE("a command that does not exist is named") {
  CHECK(lanner({"fly", "-p", "x"}).log == "lanner: error: 'fly' is not a command; see lanner --help\n");
}

TEST_CASE("of an option given twice the last counts") {
  const std::string model = golden_model("gemma4/g3_moe");
  CHECK(lanner({"info", model, "--isa", "neon", "--isa", "reference"}).exit_code == 0);
}

TEST_CASE("every command explains itself with examples and exit codes on standard output") {
  for (const char* command :
       {"run", "chat", "info", "tokenize", "perplexity", "logits", "quantize", "completion"}) {
    CAPTURE(command);
    const CommandRun run = lanner({command, "--help"});
    CHECK(run.exit_code == 0);
    CHECK(run.log.empty());
    CHECK(run.out.find("Examples:") != std::string::npos);
    CHECK(run.out.find(std::string("lanner ") + command) != std::string::npos);
    CHECK(run.out.find("Exit codes: 0 done") != std::string::npos);
  }
  CHECK(lanner({"--help"}).out.find("perplexity") != std::string::npos);
}

TEST_CASE("the version is one line") {
  const CommandRun run = lanner({"--version"});
  CHECK(run.exit_code == 0);
  CHECK(run.out.starts_with("lanner "));
  CHECK(run.out.ends_with('\n'));
}

}  // namespace lanner::test
