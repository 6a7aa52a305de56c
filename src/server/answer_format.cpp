// SPDX-License-Identifier: MIT
#include "server/answer_format.h"

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

std::string data_event(const Json& json) { return "data: " + write_json(json) + "\n\n"; }

std::string named_event(std::string_view name, const Json& json) {
  return "event: " + std::string(name) + "\n" + data_event(json);
}

}  // namespace lanner::server
