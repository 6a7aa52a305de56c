// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "engine/fit_report.h"
#include "engine/model_report.h"
#include "engine/prefix_key.h"
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

constexpr std::size_t kMostUsers = 1 << 20;

/// A whole number from 1 to `most` in the query; nothing when it is not there.
std::optional<std::size_t> query_number(const HttpRequest& request, std::string_view name, std::size_t most) {
  std::string_view rest = request.query;
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    if (!pair.starts_with(name) || pair.substr(name.size(), 1) != "=") continue;
    const std::string_view text = pair.substr(name.size() + 1);
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > most)
      refuse_field(
          name, "invalid_value",
          fmt::format("{} is {}, expected a whole number from 1 to {}", name, io::in_quotes(text), most));
    return value;
  }
  return std::nullopt;
}

Json adapter_ids(const ServedModel& served) {
  Json ids = Json::array();
  for (const engine::MountedAdapter& mounted : served.engine->adapters().list()) ids.push_back(mounted.id);
  return ids;
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
          {"adapters", adapter_ids(served)},
          {"quantization", main_format(served)},
          {"family", served.model->model().facts().family}};
}

/// The model with one adapter, as a model of its own.
Json adapted_json(const ServedModel& served, const std::string& adapter) {
  Json json = model_json(served, served.rules.model + ":" + adapter);
  json["parent"] = served.rules.model;
  json["adapters"] = {adapter};
  return json;
}

}  // namespace

void list_models(const Service::Call& call) {
  Json data = Json::array({model_json(*call.served, call.served->rules.model)});
  for (const std::string& alias : call.served->rules.aliases) data.push_back(model_json(*call.served, alias));
  for (const engine::MountedAdapter& mounted : call.served->engine->adapters().list())
    data.push_back(adapted_json(*call.served, mounted.id));
  call.respond({{"object", "list"}, {"data", std::move(data)}});
}

void show_model(const Service::Call& call) {
  const RequestRules& rules = call.served->rules;
  const std::string adapted = rules.model + ":";
  if (call.tail.starts_with(adapted))
    if (const auto mounted = call.served->engine->adapters().find(call.tail.substr(adapted.size())))
      return call.respond(adapted_json(*call.served, mounted->id));
  const bool known =
      call.tail == rules.model || std::ranges::find(rules.aliases, call.tail) != rules.aliases.end();
  if (!known)
    throw RequestError(not_found("model_not_found", "there is no model " + io::in_quotes(call.tail)));
  call.respond(model_json(*call.served, call.tail));
}

void show_fit(const Service::Call& call) {
  const engine::Engine& engine = *call.served->engine;
  const std::size_t context = call.served->rules.context;
  const std::size_t users =
      query_number(call.request(), "users", kMostUsers).value_or(engine.options().max_sequences);
  const std::size_t tokens = query_number(call.request(), "ctx", context).value_or(context);
  Json facts = engine::fit_facts(engine.plan(),
                                 {.users = users,
                                  .tokens = tokens,
                                  .context = context,
                                  .budget_bytes = engine.plan().weight_bytes() +
                                                  engine.plan().step_bytes(engine.options().max_sequences) +
                                                  engine.cache_budget_bytes()});
  facts["model"] = call.served->rules.model;
  facts["adapter_bytes"] = engine.stats().adapter_bytes;
  facts["kv_types"] = engine::kv_types_name(call.served->model->cache_spec());
  call.respond(facts);
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
