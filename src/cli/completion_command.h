// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "cli/cli11_app.h"
#include "cli/console.h"

namespace lanner::cli {

struct CompletionOptions {
  std::string shell;               ///< "bash", "zsh" or "fish"
  const CLI::App* root = nullptr;  ///< the whole option tree
};

void declare_completion(CLI::App& app, CompletionOptions& options);

/// lanner completion bash|zsh|fish: a script made from the option tree, so it never lacks an option.
int completion_command(const CompletionOptions& options, Console& console);

}  // namespace lanner::cli
