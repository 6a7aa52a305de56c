// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

#include "cli/console.h"
#include "cli/model_arguments.h"

namespace lanner::cli {

struct FitOptions {
  ModelArguments model = {};
  std::optional<std::size_t> context = {};  ///< tokens of each sequence; none = all that the model allows
  std::size_t users = 1;
  std::optional<double> budget_gb = {};  ///< 10^9 bytes; none = what the machine has left
  std::size_t step_tokens = 512;
  bool json = false;
  std::optional<std::filesystem::path> limits = {};  ///< where measurements of this machine are kept
};

void declare_fit(CLI::App& app, FitOptions& options);

/// lanner fit [FOLDER]: whether a model fits in memory, how much context and how many users, how fast. Reads
/// headers and config, no weights.
int fit_command(const FitOptions& options, Console& console);

}  // namespace lanner::cli
