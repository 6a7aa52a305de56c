// SPDX-License-Identifier: MIT
#pragma once

#include "engine/token_constraint.h"
#include "server/chat_request.h"
#include "server/output_shape.h"
#include "server/served_model.h"

namespace lanner::server {

/// What makes an answer have its shape; empty when it is free. Throws RequestError for what cannot be
/// compiled (invalid_schema, invalid_grammar, grammar_limit) or enforced (unsupported_schema).
engine::ConstraintFactory output_constraint(const ServedModel& served, const OutputShape& shape);
/// The same with the tools that may or must be called.
engine::ConstraintFactory output_constraint(const ServedModel& served, const ChatRequest& chat);

}  // namespace lanner::server
