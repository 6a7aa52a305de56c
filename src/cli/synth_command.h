// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/console.h"
#include "cli/model_arguments.h"

namespace lanner::cli {

struct SynthArguments {
  ModelArguments model = {};  ///< folder: PRESET or CONFIG
  std::string output;
  std::optional<int> bits;
  std::optional<int> group;
  std::string mode = "affine";
  std::uint64_t seed = 0;
  std::uint64_t shard_megabytes = 5000;
};

void declare_synth(CLI::App& app, SynthArguments& arguments);

/// lanner synth PRESET|CONFIG OUT: writes a folder of random weights in MLX's format.
int synth_command(const SynthArguments& arguments, Console& console);

}  // namespace lanner::cli
