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

/// Gives the engine what is left of the call's time.
void limit_time(const Service::Call& call, engine::Request& request);

/// Starts a plan as the exchange's answer.
Reply plan_reply(const Service::Call& call, GenerationPlan plan);

}  // namespace lanner::server
