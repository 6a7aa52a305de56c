// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/token.h"
#include "server/answer_format.h"
#include "text/tokenizer.h"

namespace lanner::server {

struct CompletionFormatOptions {
  std::size_t kept_choices = 1;  ///< of each prompt's candidates, the likeliest
  std::size_t choices = 1;       ///< candidates of each prompt
  bool logprobs = false;
  bool usage_chunk = false;
  bool tokens = false;
  bool prompt_logprobs = false;
  std::vector<std::string> echo = {};              ///< prompts to put before the text; empty = none
  std::vector<std::vector<TokenId>> prompts = {};  ///< their tokens, for echoed log-probabilities
};

/// Writes answers of /v1/completions. The tokenizer must outlive it.
std::unique_ptr<AnswerFormat> make_completion_format(const text::Tokenizer& tokenizer,
                                                     CompletionFormatOptions options);

}  // namespace lanner::server
