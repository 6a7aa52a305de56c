// SPDX-License-Identifier: MIT
#include "engine/fit_report.h"

#include <algorithm>

namespace lanner::engine {

io::Json fit_facts(const MemoryPlan& plan, const FitQuestion& question) {
  const auto& [users, tokens, context, whole_budget, program] = question;
  const SequenceMemory& sequence = plan.sequence();
  const std::size_t budget = whole_budget - std::min(whole_budget, program);
  const std::size_t total = plan.total_bytes(users, tokens);
  const std::size_t without_caches = std::min(budget, plan.weight_bytes() + plan.step_bytes(users));
  // Prefixes of ended requests get what sequences leave, at most half of what there is for caches.
  const std::size_t prefixes = total > budget ? 0 : std::min(budget - total, (budget - without_caches) / 2);
  return {{"fits", total <= budget},
          {"users", users},
          {"tokens", tokens},
          {"budget_bytes", whole_budget},
          {"total_bytes", total + program},
          {"program_bytes", program},
          {"weights",
           {{"resident_bytes", plan.weight_bytes()},
            {"owned_bytes", plan.weights().owned_bytes},
            {"mapped_bytes", plan.weights().mapped_bytes},
            {"lookup_bytes", plan.weights().lookup_bytes}}},
          {"sequence",
           {{"bytes", sequence.bytes({.tokens = tokens})},
            {"full_bytes_per_token", sequence.full_bytes_per_token()},
            {"sliding_bytes_per_token", sequence.sliding_bytes_per_token()},
            {"sliding_window", sequence.window()},
            {"state_bytes", sequence.state_bytes()},
            {"checkpoint_bytes", sequence.checkpoint_bytes()}}},
          {"step",
           {{"workspace_bytes", plan.workspace().bytes(users)},
            {"sliding_bytes", plan.step_bytes(users) - plan.workspace().bytes(users)}}},
          {"prefix_cache_bytes", prefixes},
          {"max_context", plan.max_context(users, budget, context)},
          {"max_users", plan.max_users(tokens, budget)}};
}

}  // namespace lanner::engine
