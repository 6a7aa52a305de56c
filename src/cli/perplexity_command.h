// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "cli/adapter_arguments.h"
#include "cli/console.h"
#include "cli/model_arguments.h"
#include "cli/prompt_source.h"

namespace lanner::cli {

struct PerplexityOptions {
  ModelArguments model = {.kv_type = device::KvType::kF32};
  PromptSource text = {};
  AdapterArguments adapters = {};
  std::size_t chunk = 512;
  bool json = false;
  bool agreement = false;  ///< compare the arithmetic of --compute with the exact one
};

void declare_perplexity(CLI::App& app, PerplexityOptions& options);

/// lanner perplexity [FOLDER] -f FILE: how well the model predicts a text.
int perplexity_command(const PerplexityOptions& options, Console& console);

}  // namespace lanner::cli
