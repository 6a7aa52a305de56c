// SPDX-License-Identifier: MIT
#include "cli/environment.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <system_error>

namespace lanner::cli {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::size_t terminal_columns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

}  // namespace

Environment read_environment() {
  Environment environment;
  environment.hub = {.hf_hub_cache = variable("HF_HUB_CACHE"),
                     .hf_home = variable("HF_HOME"),
                     .xdg_cache_home = variable("XDG_CACHE_HOME"),
                     .home = variable("HOME")};
  environment.models_folder = variable("LANNER_MODELS_DIR");
  environment.state_home = variable("XDG_STATE_HOME");
  std::error_code ignored;
  environment.executable = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return environment;
}

Terminal detect_terminal() {
  Terminal terminal;
  terminal.in = isatty(STDIN_FILENO) == 1;
  terminal.out = isatty(STDOUT_FILENO) == 1;
  terminal.log = isatty(STDERR_FILENO) == 1;
  const std::string kind = variable("TERM");
  terminal.colour = variable("NO_COLOR").empty() && !kind.empty() && kind != "dumb";
  terminal.columns = terminal_columns();
  return terminal;
}

std::optional<std::filesystem::path> history_file(const Environment& environment) {
  std::filesystem::path state;
  if (!environment.state_home.empty())
    state = environment.state_home;
  else if (!environment.hub.home.empty())
    state = std::filesystem::path(environment.hub.home) / ".local" / "state";
  else
    return std::nullopt;
  return state / "lanner" / "chat_history";
}

std::vector<std::filesystem::path> embedded_model_folders(const Environment& environment) {
  std::vector<std::filesystem::path> folders;
  if (!environment.models_folder.empty()) folders.emplace_back(environment.models_folder);
  if (!environment.executable.empty())
    folders.push_back(environment.executable.parent_path().parent_path() / "share" / "lanner" / "models");
  folders.emplace_back(LANNER_SOURCE_MODELS_DIR);
  return folders;
}

}  // namespace lanner::cli
