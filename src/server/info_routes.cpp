// SPDX-License-Identifier: MIT
#include <algorithm>

#include "engine/model_report.h"
#include "io/message_text.h"
#include "server/json_fields.h"
#include "server/problem.h"
#include "server/routes.h"

namespace lanner::server {
namespace {

/// How most of the weights are stored.
std::string main_format(const ServedModel& served) {
  const std::vector<engine::WeightGroup> groups = engine::weight_groups(served.model->model().facts());
  const auto largest = std::ranges::max_element(groups, {}, &engine::WeightGroup::size_bytes);
  return largest == groups.end() ? "" : largest->format;
}

Json model_json(const ServedModel& served, const std::string& id) {
  const engine::TextParts& parts = served.model->text();
  const text::ChatTemplateFacts facts =
      parts.has_chat_template() ? parts.chat_template().facts() : text::ChatTemplateFacts{};
  return {{"id", id},
          {"object", "model"},
          {"created", served.created},
          {"owned_by", "lanner"},
          {"context_window", served.rules.context},
          {"max_model_len", served.rules.context},
          {"max_output_tokens", std::min(served.rules.context, served.rules.chat_tokens)},
          {"modalities", {{"input", {"text"}}, {"output", {"text"}}}},
          {"reasoning", facts.has_thinking_switch},
          {"tools", facts.uses_tools},
          {"adapters", Json::array()},
          {"quantization", main_format(served)},
          {"family", served.model->model().facts().family}};
}

}  // namespace

void list_models(const Service::Call& call) {
  Json data = Json::array({model_json(*call.served, call.served->rules.model)});
  for (const std::string& alias : call.served->rules.aliases) data.push_back(model_json(*call.served, alias));
  call.respond({{"object", "list"}, {"data", std::move(data)}});
}

void show_model(const Service::Call& call) {
  const RequestRules& rules = call.served->rules;
  const bool known =
      call.tail == rules.model || std::ranges::find(rules.aliases, call.tail) != rules.aliases.end();
  if (!known)
    throw RequestError(not_found("model_not_found", "there is no model " + io::in_quotes(call.tail)));
  call.respond(model_json(*call.served, call.tail));
}

void list_requests(const Service::Call& call) { call.respond(call.live->list()); }

void cancel_request(const Service::Call& call) {
  if (!call.live->cancel(call.tail))
    throw RequestError(not_found("not_found", "no request " + io::in_quotes(call.tail) + " is running"));
  call.respond({{"id", call.tail}, {"object", "request"}, {"cancelled", true}});
}

void control_request(const Service::Call& call) {
  const Json body = parse_body(call.request().body);
  const JsonFields fields(body);
  fields.require("action");
  const auto action = fields.one_of("action", {"end_reasoning"});
  if (!call.live->end_reasoning(call.tail))
    throw RequestError(not_found("not_found", "no answer " + io::in_quotes(call.tail) + " is being made"));
  call.respond({{"id", call.tail}, {"object", "request"}, {"action", *action}});
}

}  // namespace lanner::server
