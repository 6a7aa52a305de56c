// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "engine/engine.h"
#include "server/problem.h"

namespace lanner::server {

/// What a request that the engine did not take is answered; `prompt_field` is blamed for one that is too
/// long.
Problem refusal_problem(const engine::Refusal& refusal, std::string_view prompt_field);
/// What a request that failed in the engine is answered.
Problem failure_problem(const engine::Failure& failure, std::string_view request_id);
/// What a request that somebody cancelled is answered.
Problem deadline_problem();
Problem cancelled_problem();

}  // namespace lanner::server
