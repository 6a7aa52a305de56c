// SPDX-License-Identifier: MIT
#pragma once

#include "server/chat_request.h"
#include "server/generation_session.h"
#include "server/service.h"

/// What the generating routes have in common.
namespace lanner::server {

/// Gives an answer without max_tokens the room it has by default.
void default_length(engine::Request& request, std::size_t default_tokens, const RequestRules& rules);

/// The engine's request for a conversation, with its constraint and deadline. Throws RequestError.
engine::Request chat_engine_request(const Service::Call& call, const ChatRequest& chat, const Json& body);

/// Fills in the plan's facts and starts it. `plan` has requests, id and format.
void start_plan(const Service::Call& call, GenerationPlan plan, const GenerationFields& generation);

}  // namespace lanner::server
