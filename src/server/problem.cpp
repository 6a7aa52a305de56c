// SPDX-License-Identifier: MIT
#include "server/problem.h"

#include <utility>

namespace lanner::server {

void refuse_field(std::string_view param, std::string_view code, std::string message) {
  throw RequestError({.code = std::string(code), .message = std::move(message), .param = std::string(param)});
}

Problem not_found(std::string_view code, std::string message) {
  return {.status = 404, .code = std::string(code), .message = std::move(message)};
}

Problem internal_problem(std::string_view request_id) {
  return {.status = 500,
          .type = "server_error",
          .code = "internal",
          .message = "a fault in the server; please report it with request id " + std::string(request_id)};
}

Problem draining_problem() {
  return {.status = 503,
          .type = "unavailable_error",
          .code = "draining",
          .message = "the server is shutting down",
          .retry_seconds = 5};
}

Problem device_lost_problem(std::string message) {
  constexpr double kReloadSeconds = 10;
  return {.status = 503,
          .type = "unavailable_error",
          .code = "device_lost",
          .message = std::move(message),
          .retry_seconds = kReloadSeconds};
}

Problem loading_problem() {
  return {.status = 503,
          .type = "unavailable_error",
          .code = "loading",
          .message = "the model is being loaded",
          .retry_seconds = 2};
}

const char* rejection_reason(const Problem& problem) {
  if (problem.status == 401) return "auth";
  if (problem.code == "queue_full") return "queue_full";
  if (problem.code == "device_lost") return "device_lost";
  if (problem.code == "context_length_exceeded") return "context_length";
  if (problem.type == "memory_admission") return "memory";
  return problem.status == 400 ? "invalid" : nullptr;
}

Problem problem_of(const Error& error, std::string_view request_id) {
  if (const auto* request = dynamic_cast<const RequestError*>(&error)) return request->problem();
  switch (error.kind()) {
    case ErrorKind::kInvalidArgument:
      return {.code = "invalid_value", .message = error.what()};
    case ErrorKind::kUnsupported:
      return {.code = "unsupported_value", .message = error.what()};
    case ErrorKind::kOutOfMemory:
      return {.status = 503,
              .type = "unavailable_error",
              .code = "out_of_memory",
              .message = "memory ran out; try again later",
              .retry_seconds = 5};
    default:
      return internal_problem(request_id);
  }
}

}  // namespace lanner::server
