// SPDX-License-Identifier: MIT
#include "io/message_text.h"
#include "server/generation_plan.h"
#include "server/problem.h"
#include "server/request_ids.h"
#include "server/responses_format.h"
#include "server/responses_request.h"
#include "server/routes.h"

namespace lanner::server {
namespace {

ResponseStore::Stored stored_response(const Service::Call& call, const std::string& id) {
  auto stored = call.responses->get(id);
  if (!stored)
    throw RequestError(not_found("response_not_found", "there is no response " + io::in_quotes(id)));
  return *stored;
}

}  // namespace

Reply responses(const Service::Call& call, const Json& body) {
  Json history = Json::array();
  if (const auto previous = previous_response(body))
    history = Json::parse(stored_response(call, *previous).messages);
  const ResponsesRequest request = read_responses_request(body, call.served->rules, history);
  GenerationPlan plan;
  plan.requests.push_back(chat_engine_request(*call.served, request.chat));
  plan.facts.id = random_id("resp_");
  plan.prompt_field = "input";
  const ResponsesFormatOptions options{.echo = request.echo,
                                       .logprobs = request.chat.generation.request.top_logprobs.has_value()};
  const text::Tokenizer& tokenizer = call.served->model->tokenizer();
  plan.format = make_responses_format(tokenizer, options);
  if (request.store)
    plan.when_complete = [store = call.responses, messages = request.items, options,
                          served = call.served](const Answer& answer) mutable {
      messages.push_back(answer_message(answer));
      const auto format = make_responses_format(served->model->tokenizer(), options);
      store->put(answer.facts().id, {write_json(format->whole(answer)), write_json(messages)});
    };
  complete_plan(plan, *call.served, request.chat.generation);
  return plan_reply(call, std::move(plan));
}

void show_response(const Service::Call& call) {
  call.exchange->respond({.body = stored_response(call, call.tail).response});
}

void delete_response(const Service::Call& call) {
  if (!call.responses->erase(call.tail))
    throw RequestError(not_found("response_not_found", "there is no response " + io::in_quotes(call.tail)));
  call.respond({{"id", call.tail}, {"object", "response"}, {"deleted", true}});
}

}  // namespace lanner::server
