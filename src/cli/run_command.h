// SPDX-License-Identifier: MIT
#pragma once

#include "cli/adapter_arguments.h"
#include "cli/chat_arguments.h"
#include "cli/console.h"
#include "cli/model_arguments.h"
#include "cli/prompt_cache.h"
#include "cli/prompt_source.h"
#include "cli/sampling_arguments.h"

namespace lanner::cli {

struct RunOptions {
  ModelArguments model = {};
  PromptSource prompt = {};
  ChatArguments chat = {};
  SamplingArguments sampling = {};
  PromptCacheArguments prompt_cache = {};
  AdapterArguments adapters = {};
  bool raw = false;
  bool json = false;
};

void declare_run(CLI::App& app, RunOptions& options);

/// lanner run [FOLDER] -p TEXT: one answer, streamed to standard output.
int run_command(const RunOptions& options, Console& console);

}  // namespace lanner::cli
