// SPDX-License-Identifier: MIT
#pragma once

#include "server/chat_request.h"

namespace lanner::server {

/// Whether a body asks for an answer or only for its prompt's length.
enum class MessagesUse : std::uint8_t { kAnswer, kCount };

/// Reads a body of Anthropic's Messages API as a conversation in OpenAI form. Throws RequestError.
ChatRequest read_messages_request(const Json& body, const RequestRules& rules, MessagesUse use);

}  // namespace lanner::server
