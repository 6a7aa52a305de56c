// SPDX-License-Identifier: MIT
#include "server/engine_problem.h"

#include <algorithm>

namespace lanner::server {

Problem refusal_problem(const engine::Refusal& refusal, std::string_view prompt_field) {
  switch (refusal.kind) {
    case engine::RefusalKind::kContextLength:
      return {
          .code = "context_length_exceeded", .message = refusal.message, .param = std::string(prompt_field)};
    case engine::RefusalKind::kMemory:
      return {.type = "memory_admission",
              .code = "context_over_budget",
              .message = refusal.message,
              .param = std::string(prompt_field)};
    case engine::RefusalKind::kDraining:
      return draining_problem();
    case engine::RefusalKind::kDeviceLost:
      return device_lost_problem(refusal.message);
    case engine::RefusalKind::kQueueFull:
      break;
  }
  return {.status = 429,
          .type = "rate_limit_error",
          .code = "queue_full",
          .message = refusal.message,
          .retry_seconds = std::max(1.0, refusal.retry_seconds)};
}

Problem failure_problem(const engine::Failure& failure, std::string_view request_id) {
  switch (failure.kind) {
    case engine::FailureKind::kDeadline:
      return deadline_problem();
    case engine::FailureKind::kQueueTimeout:
      return {.status = 503,
              .type = "unavailable_error",
              .code = "queue_timeout",
              .message = "the request waited longer than it was given",
              .retry_seconds = 5};
    case engine::FailureKind::kDeviceLost:
      return device_lost_problem(failure.message);
    case engine::FailureKind::kGrammarLimit:
      return {.code = "grammar_limit", .message = failure.message};
    case engine::FailureKind::kError:
      break;
  }
  return problem_of(Error(failure.error, failure.message), request_id);
}

Problem deadline_problem() {
  return {.status = 504,
          .type = "timeout_error",
          .code = "deadline_exceeded",
          .message = "the request took longer than it was given"};
}

Problem cancelled_problem() {
  return {.status = 503,
          .type = "unavailable_error",
          .code = "cancelled",
          .message = "the request was cancelled"};
}

}  // namespace lanner::server
