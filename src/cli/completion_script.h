// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "cli/cli11_app.h"

namespace lanner::cli {

/// One option as completion scripts see it.
struct CompletionOption {
  std::vector<std::string> names;  ///< with dashes, all spellings
  std::string help;
  bool takes_value = false;
};

struct CompletionEntry {
  std::string command;
  std::string help;
  std::vector<CompletionOption> options;
};

/// The commands with their options.
using CompletionTree = std::vector<CompletionEntry>;

CompletionTree completion_tree(const CLI::App& root);
/// Scripts that complete commands, then options, then file names.
std::string bash_completion(const CompletionTree& tree);
std::string zsh_completion(const CompletionTree& tree);
std::string fish_completion(const CompletionTree& tree);

}  // namespace lanner::cli
