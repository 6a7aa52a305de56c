// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <set>

#include "server/answer_format.h"
#include "server/request_rules.h"
#include "text/tokenizer.h"

namespace lanner::server {

/// What a chat answer shows beyond its text.
struct ChatFormatOptions {
  ReasoningField reasoning_field = ReasoningField::kReasoningContent;
  bool logprobs = false;
  bool usage_chunk = false;  ///< streams: a last chunk with the usage
  bool timings = false;      ///< streams: timings in the last chunk
  bool tokens = false;       ///< token ids too
};

/// Writes answers of /v1/chat/completions. The tokenizer must outlive it.
std::unique_ptr<AnswerFormat> make_chat_format(const text::Tokenizer& tokenizer,
                                               const ChatFormatOptions& options);

/// {prompt_tokens, completion_tokens, ...}
Json usage_json(const Answer& answer);
/// {seed, timings}: what clients of other servers do not know.
Json extras_json(const Answer& answer);
/// null, the stop string, or the stop id of the request.
Json stop_reason_json(const Answer& answer, std::size_t choice);

}  // namespace lanner::server
