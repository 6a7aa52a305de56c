// SPDX-License-Identifier: MIT
#include "cli/completion_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/completion_script.h"
#include "cli/exit_code.h"
#include "cli/model_arguments.h"

namespace lanner::cli {

void declare_completion(CLI::App& app, CompletionOptions& options) {
  app.add_option("SHELL", options.shell, "bash, zsh or fish")
      ->required()
      ->type_name("")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  set_examples(app,
               "  source <(lanner completion bash)\n"
               "  lanner completion bash > /etc/bash_completion.d/lanner\n"
               "  lanner completion zsh > \"${fpath[1]}/_lanner\"\n"
               "  lanner completion fish > ~/.config/fish/completions/lanner.fish\n");
}

int completion_command(const CompletionOptions& options, Console& console) {
  const CompletionTree tree = completion_tree(*options.root);
  if (options.shell == "bash")
    console.out << bash_completion(tree);
  else if (options.shell == "zsh")
    console.out << zsh_completion(tree);
  else
    console.out << fish_completion(tree);
  return kExitOk;
}

}  // namespace lanner::cli
