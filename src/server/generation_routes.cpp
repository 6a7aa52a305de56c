// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <memory>

#include "server/adapter_fields.h"
#include "server/generation_plan.h"
#include "server/routes.h"

namespace lanner::server {
void limit_time(const Service::Call& call, engine::Request& request) {
  using std::chrono::milliseconds;
  if (!call.deadline) return;
  const auto left = *call.deadline - Preparation::Clock::now();
  request.timeout = std::max(milliseconds(1), std::chrono::ceil<milliseconds>(left));
}

Reply plan_reply(const Service::Call& call, GenerationPlan plan) {
  for (engine::Request& request : plan.requests) {
    limit_time(call, request);
    count_adapters(*call.metrics, request);
  }
  return [call, plan = std::make_shared<GenerationPlan>(std::move(plan))] {
    GenerationSession::start({call.exchange, call.served, call.metrics, call.live}, std::move(*plan));
  };
}

Reply chat_completions(const Service::Call& call, const Json& body) {
  return plan_reply(call, chat_plan(*call.served, body));
}

Reply completions(const Service::Call& call, const Json& body) {
  return plan_reply(call, completion_plan(*call.served, body));
}

}  // namespace lanner::server
