// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "cli/console.h"
#include "io/hub.h"

namespace lanner::cli {

/// Everything lanner reads from the process environment, read once at the start.
struct Environment {
  io::HubEnvironment hub;
  std::string models_folder;  ///< $LANNER_MODELS_DIR: where the embedded models lie
  std::string state_home;     ///< $XDG_STATE_HOME
  std::filesystem::path executable;
};

/// Reads the variables and finds the executable's own path.
Environment read_environment();

/// Asks the operating system what the standard streams are; $NO_COLOR and $TERM=dumb switch colour off.
Terminal detect_terminal();

/// Where chat keeps its input history: $XDG_STATE_HOME/lanner/chat_history, else under ~/.local/state;
/// nothing when neither variable is set.
std::optional<std::filesystem::path> history_file(const Environment& environment);

/// Folders that may hold the embedded models, best first: $LANNER_MODELS_DIR, share/lanner/models beside the
/// executable's bin/, the source tree the program was built in.
std::vector<std::filesystem::path> embedded_model_folders(const Environment& environment);

}  // namespace lanner::cli
