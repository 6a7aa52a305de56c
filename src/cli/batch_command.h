// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>

#include "cli/adapter_arguments.h"
#include "cli/console.h"
#include "cli/model_arguments.h"
#include "cli/sampling_arguments.h"

namespace lanner::cli {

struct BatchOptions {
  ModelArguments model = {};
  std::filesystem::path input = {};
  std::filesystem::path output = {};
  SamplingArguments sampling = {};
  AdapterArguments adapters = {};
  std::size_t parallel = 8;
};

void declare_batch(CLI::App& app, BatchOptions& options);

/// lanner batch IN.jsonl OUT.jsonl: answers every line of a file, several at once, and goes on where a former
/// run ended.
int batch_command(const BatchOptions& options, Console& console);

}  // namespace lanner::cli
