// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/model_arguments.h"
#include "cli/prompt_source.h"
#include "core/token.h"

namespace lanner::cli {

struct TokenizeOptions {
  ModelArguments model = {};
  std::vector<std::string> words = {};  ///< positionals: [FOLDER] [TEXT]
  PromptSource prompt = {};
  std::vector<TokenId> decode = {};
  bool pieces = false;
  bool json = false;
  bool chat = false;
  bool bos = false;
};

void declare_tokenize(CLI::App& app, TokenizeOptions& options);

/// lanner tokenize [FOLDER] [TEXT]: the ids of a text, or with --decode the text of ids. Reads no weights.
int tokenize_command(const TokenizeOptions& options, Console& console);

}  // namespace lanner::cli
