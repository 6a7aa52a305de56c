// SPDX-License-Identifier: MIT
#include "server/error_response.h"

#include <fmt/format.h>

#include <algorithm>

namespace lanner::server {
namespace {

const char* anthropic_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    case 504:
      return "timeout_error";
    default:
      return status >= 500 ? "api_error" : "invalid_request_error";
  }
}

}  // namespace

Json error_body(const Problem& problem, ErrorStyle style, std::string_view request_id) {
  if (style == ErrorStyle::kAnthropic)
    return {{"type", "error"},
            {"error", {{"type", anthropic_type(problem.status)}, {"message", problem.message}}},
            {"request_id", request_id}};
  return {{"error",
           {{"message", problem.message},
            {"type", problem.type},
            {"param", problem.param.empty() ? Json(nullptr) : Json(problem.param)},
            {"code", problem.code.empty() ? Json(nullptr) : Json(problem.code)}}}};
}

HttpResponse error_response(const Problem& problem, ErrorStyle style, std::string_view request_id) {
  HttpResponse response{.status = problem.status,
                        .body = write_json(error_body(problem, style, request_id)),
                        .headers = problem.headers};
  if (problem.retry_seconds > 0)
    response.headers.emplace_back("Retry-After", fmt::format("{:.0f}", std::max(1.0, problem.retry_seconds)));
  return response;
}

}  // namespace lanner::server
