// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstdlib>

#include "cli/command_run.h"
#include "cli/completion_script.h"
#include "io/temporary_folder.h"

namespace lanner::test {

TEST_CASE("completion scripts know every command and its options") {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    CAPTURE(shell);
    const CommandRun run = lanner({"completion", shell});
    CHECK(run.exit_code == 0);
    CHECK(run.log.empty());
    for (const char* word : {"run", "chat", "info", "tokenize", "perplexity", "logits", "quantize",
                             "max-tokens", "repeat-penalty", "override", "threads"}) {
      CAPTURE(word);
      CHECK(run.out.find(word) != std::string::npos);
    }
  }
}

TEST_CASE("the bash script is one that bash reads, and completes") {
  const io::TemporaryFolder folder;
  const std::string script = folder.write("lanner.bash", lanner({"completion", "bash"}).out);
  const std::string probe = folder.write("probe.bash", "source " + script + R"(
COMP_WORDS=(lanner qu); COMP_CWORD=1; _lanner; [ "${COMPREPLY[*]}" = quantize ] || exit 1
COMP_WORDS=(lanner logits --hi); COMP_CWORD=2; _lanner; [ "${COMPREPLY[*]}" = --hidden ] || exit 2
COMP_WORDS=(lanner run mod); COMP_CWORD=2; _lanner; [ -z "${COMPREPLY[*]}" ] || exit 3
)");
  CHECK(std::system(("bash " + probe).c_str()) == 0);
}

}  // namespace lanner::test
