// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/model_arguments.h"

namespace lanner::cli {

struct BenchArguments {
  ModelArguments model = {};
  std::vector<std::size_t> prompts = {512};
  std::vector<std::size_t> decodes = {128};
  std::vector<std::size_t> sequences = {1};
  std::vector<std::size_t> depths = {0};
  std::vector<std::size_t> mixed = {};  ///< prompt and decode in turns
  std::vector<int> threads = {};        ///< default: the cores this process may use
  std::size_t chunk = 512;
  std::size_t repeats = 5;
  std::string format = "md";
  bool roofline = false;
  bool processor_time = false;
  bool all_rows = false;                             ///< of prompts are wanted
  std::optional<std::filesystem::path> limits = {};  ///< where measurements of this machine are kept
};

void declare_bench(CLI::App& app, BenchArguments& arguments);

/// lanner bench FOLDER -p 512 -n 128: tokens per second of prompts and answers.
int bench_command(const BenchArguments& arguments, Console& console);

}  // namespace lanner::cli
