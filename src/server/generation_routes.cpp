// SPDX-License-Identifier: MIT
#include <charconv>

#include "server/adapter_fields.h"
#include "server/generation_plan.h"
#include "server/problem.h"
#include "server/routes.h"

namespace lanner::server {
namespace {

/// Longer than an hour is for `timeout_ms`.
constexpr std::int64_t kMostHeaderTimeoutMs = std::int64_t{1000} * 3600 * 24 * 30;

/// X-Request-Timeout-Ms, unless the body said it.
void apply_timeout_header(const HttpRequest& http, const Json& body, engine::Request& request) {
  const auto header = http.header("x-request-timeout-ms");
  if (!header || body.contains("timeout_ms")) return;
  std::int64_t ms = 0;
  const auto [end, error] = std::from_chars(header->data(), header->data() + header->size(), ms);
  if (error != std::errc() || end != header->data() + header->size() || ms < 1 || ms > kMostHeaderTimeoutMs)
    refuse_field("X-Request-Timeout-Ms", "invalid_value",
                 "X-Request-Timeout-Ms must be a whole number of milliseconds");
  request.timeout = std::chrono::milliseconds(ms);
}

}  // namespace

void start_plan(const Service::Call& call, const Json& body, GenerationPlan plan) {
  for (engine::Request& request : plan.requests) {
    apply_timeout_header(call.request(), body, request);
    count_adapters(*call.metrics, request);
  }
  GenerationSession::start({call.exchange, call.served, call.metrics, call.live}, std::move(plan));
}

void chat_completions(const Service::Call& call) {
  const Json body = parse_body(call.request().body);
  start_plan(call, body, chat_plan(*call.served, body));
}

void completions(const Service::Call& call) {
  const Json body = parse_body(call.request().body);
  start_plan(call, body, completion_plan(*call.served, body));
}

}  // namespace lanner::server
