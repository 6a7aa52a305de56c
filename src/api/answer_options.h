// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>

#include "engine/answer_constraint.h"
#include "lanner/lanner.hpp"

namespace lanner::api {

/// What the options ask of an answer's content. Throws lanner::Error kInvalidArgument.
engine::AnswerShape answer_shape(const GenerateOptions& options);
/// The tools of the options. Throws lanner::Error kInvalidArgument.
engine::CallableTools callable_tools(const GenerateOptions& options);
/// A message as chat templates take it.
nlohmann::ordered_json message_json(const Message& message);

}  // namespace lanner::api
