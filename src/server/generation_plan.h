// SPDX-License-Identifier: MIT
#pragma once

#include "server/chat_request.h"
#include "server/generation_session.h"
#include "server/service.h"

/// What the generating routes have in common.
namespace lanner::server {

/// What the bodies of /v1/chat/completions and /v1/completions ask for. Throws RequestError.
GenerationPlan chat_plan(const ServedModel& served, const Json& body);
GenerationPlan completion_plan(const ServedModel& served, const Json& body);

/// The engine's request for a conversation, with its constraint. Throws RequestError.
engine::Request chat_engine_request(const ServedModel& served, const ChatRequest& chat);

/// Fills in what follows from the model and the fields all routes have. `plan` has requests, id and format.
void complete_plan(GenerationPlan& plan, const ServedModel& served, const GenerationFields& generation);

/// Starts a plan as the exchange's answer, with the deadline that a header may set.
void start_plan(const Service::Call& call, const Json& body, GenerationPlan plan);

}  // namespace lanner::server
