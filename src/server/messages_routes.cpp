// SPDX-License-Identifier: MIT
#include "server/generation_plan.h"
#include "server/messages_format.h"
#include "server/messages_request.h"
#include "server/prompt.h"
#include "server/request_ids.h"
#include "server/routes.h"

namespace lanner::server {

Reply messages(const Service::Call& call, const Json& body) {
  const ChatRequest chat = read_messages_request(body, call.served->rules, MessagesUse::kAnswer);
  GenerationPlan plan;
  plan.requests.push_back(chat_engine_request(*call.served, chat));
  plan.requests.front().choices = 1;
  plan.facts.id = random_id("msg_");
  plan.errors = ErrorStyle::kAnthropic;
  plan.format = make_messages_format();
  complete_plan(plan, *call.served, chat.generation);
  return plan_reply(call, std::move(plan));
}

Reply count_tokens(const Service::Call& call, const Json& body) {
  const ChatRequest chat = read_messages_request(body, call.served->rules, MessagesUse::kCount);
  return call.reply({{"input_tokens", render_prompt(call.served->model->text(), chat).ids.size()}});
}

}  // namespace lanner::server
