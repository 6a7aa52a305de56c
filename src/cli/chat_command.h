// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>

#include "cli/adapter_arguments.h"
#include "cli/chat_arguments.h"
#include "cli/console.h"
#include "cli/model_arguments.h"
#include "cli/prompt_cache.h"
#include "cli/sampling_arguments.h"

namespace lanner::cli {

struct ChatOptions {
  ModelArguments model = {};
  ChatArguments chat = {};
  SamplingArguments sampling = {};
  PromptCacheArguments prompt_cache = {};
  AdapterArguments adapters = {};
  std::optional<std::filesystem::path> history = {};  ///< file of the input history
};

void declare_chat(CLI::App& app, ChatOptions& options);

/// lanner chat [FOLDER]: a conversation, one message per line of standard input.
int chat_command(const ChatOptions& options, Console& console);

}  // namespace lanner::cli
