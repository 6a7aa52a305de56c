// SPDX-License-Identifier: MIT
#include "cli/command_run.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "cli/program.h"

namespace lanner::test {

namespace fs = std::filesystem;

CommandRun lanner(const std::vector<std::string>& arguments, const std::string& input,
                  const cli::Terminal& terminal, const cli::Environment& environment) {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream log;
  cli::Console console{in, out, log, terminal};
  const int exit_code = cli::run_program(arguments, environment, console);
  return {exit_code, out.str(), log.str()};
}

fs::path golden_model(const std::string& name) { return fs::path(LANNER_GOLDEN_DIR) / "models" / name; }

std::optional<fs::path> tale_model(const std::string& name) {
  const char* variable = std::getenv("LANNER_TALE_MODELS");
  const fs::path originals = variable != nullptr ? fs::path(variable) : fs::path(LANNER_TALE_ORIGINALS);
  for (const fs::path& folder : {fs::path(LANNER_MODELS_DIR) / name, originals / name})
    if (fs::exists(folder / "config.json")) return folder;
  MESSAGE("skipped: no weights of " << name << " (set LANNER_TALE_MODELS)");
  return std::nullopt;
}

bool is_one_error_line(const std::string& log) {
  return log.starts_with("lanner: error: ") && std::ranges::count(log, '\n') == 1 && log.ends_with('\n');
}

}  // namespace lanner::test
