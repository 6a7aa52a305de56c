// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "cli/adapter_arguments.h"
#include "cli/console.h"
#include "cli/model_arguments.h"
#include "cli/prompt_source.h"
#include "core/token.h"

namespace lanner::cli {

struct LogitsOptions {
  ModelArguments model = {};
  PromptSource prompt = {};
  AdapterArguments adapters = {};
  std::vector<TokenId> ids = {};
  std::string output;
  std::size_t chunk = 512;
  bool hidden = false;
};

void declare_logits(CLI::App& app, LogitsOptions& options);

/// lanner logits FOLDER --ids 2,17 -o OUT.safetensors: logits, and hidden states, of every token.
int logits_command(const LogitsOptions& options, Console& console);

}  // namespace lanner::cli
