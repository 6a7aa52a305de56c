// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <variant>

#include "engine/cache_budget.h"
#include "engine/engine.h"
#include "engine/loaded_model.h"
#include "engine/request.h"

namespace lanner::engine {

/// Throws Error kInvalidArgument, naming the field, for a request that makes no sense whatever is running.
void check_request(const Request& request, const LoadedModel& model);

/// Tokens that a choice of the request may have in all, prompt included, or why it can never run.
std::variant<std::size_t, Refusal> token_limit(const Request& request, const LoadedModel& model,
                                               const CacheBudget& budget);

}  // namespace lanner::engine
