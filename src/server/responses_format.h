// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "server/answer_format.h"
#include "text/tokenizer.h"

namespace lanner::server {

struct ResponsesFormatOptions {
  Json echo = Json::object();  ///< fields of the request that the response repeats
  bool logprobs = false;
};

/// Writes answers of OpenAI's Responses API. The tokenizer must outlive it.
std::unique_ptr<AnswerFormat> make_responses_format(const text::Tokenizer& tokenizer,
                                                    ResponsesFormatOptions options);

/// The answer as a message of a chat, for the conversation to go on.
Json answer_message(const Answer& answer);

}  // namespace lanner::server
