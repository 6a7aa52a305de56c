// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "core/token.h"
#include "server/generation_fields.h"
#include "server/output_shape.h"

namespace lanner::server {

/// A text, or the tokens of one.
using PlainPrompt = std::variant<std::string, std::vector<TokenId>>;

/// Texts to continue, without a template.
struct CompletionRequest {
  GenerationFields generation = {};
  std::vector<PlainPrompt> prompts = {};
  OutputShape shape = {};
  std::size_t kept_choices = 1;  ///< of each prompt's request.choices, the likeliest
  bool echo = false;             ///< the prompt is part of the text
  bool prompt_logprobs = false;  ///< asked for by that name
  bool add_special_tokens = true;
};

/// Reads the body of /v1/completions. Throws RequestError.
CompletionRequest read_completion_request(const Json& body, const RequestRules& rules);

/// A string, an array of strings, token ids, or an array of token id arrays; at most `most` of them.
std::vector<PlainPrompt> read_plain_prompts(const JsonFields& fields, std::string_view name,
                                            std::size_t vocabulary, std::size_t most);

}  // namespace lanner::server
