// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/model_arguments.h"

namespace lanner::cli {

struct QuantizeArguments {
  ModelArguments model = {};  ///< IN, threads
  std::string output;
  std::string mode = "affine";
  std::optional<int> bits = {};   ///< default: the mode's
  std::optional<int> group = {};  ///< default: the mode's
  std::vector<std::string> overrides = {};
  std::uint64_t shard_megabytes = 5000;
  bool json = false;
};

void declare_quantize(CLI::App& app, QuantizeArguments& arguments);

/// lanner quantize IN OUT --bits 4 --group 64: writes an MLX-format folder.
int quantize_command(const QuantizeArguments& arguments, Console& console);

}  // namespace lanner::cli
