// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/environment.h"

namespace lanner::test {

/// What a run of the program left behind.
struct CommandRun {
  int exit_code = 0;
  std::string out;
  std::string log;
};

/// Runs the program inside the test with these arguments, standard input and environment.
CommandRun lanner(const std::vector<std::string>& arguments, const std::string& input = {},
                  const cli::Terminal& terminal = {}, const cli::Environment& environment = {});

/// A tiny random checkpoint of tests/golden/models ("gemma4/g3_moe"); it has no tokenizer.
std::filesystem::path golden_model(const std::string& name);

/// A trained model with tokenizer and template: the embedded one, else the bf16 original; nothing when
/// neither is at hand, after saying so.
std::optional<std::filesystem::path> tale_model(const std::string& name);

/// True when `log` is one line that starts with "lanner: error: ".
bool is_one_error_line(const std::string& log);

}  // namespace lanner::test
