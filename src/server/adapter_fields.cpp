// SPDX-License-Identifier: MIT
#include "server/adapter_fields.h"

#include <fmt/format.h>

#include "io/message_text.h"
#include "server/problem.h"

namespace lanner::server {
namespace {

using Choices = std::vector<engine::AdapterChoice>;

Choices parse_choices(const std::string& text, const std::string& param) {
  try {
    return engine::parse_adapter_choices(text);
  } catch (const Error& error) {
    refuse_field(param, "invalid_value", error.what());
  }
}

/// [{"id": "a", "weight": 0.7}, ...]
Choices read_list(const Json& list, const std::string& path) {
  Choices choices;
  for (const Json& entry : list) {
    const JsonFields fields(entry, fmt::format("{}[{}]", path, choices.size()));
    const std::string id = fields.require_string("id");
    if (!engine::is_adapter_id(id))
      refuse_field(fields.path("id"), "invalid_value", io::in_quotes(id) + " is no adapter's id");
    const double weight =
        fields.number("weight", {-engine::kMostStrength, engine::kMostStrength}).value_or(1.0);
    choices.push_back({id, static_cast<float>(weight)});
  }
  return choices;
}

[[noreturn]] void not_mounted(const std::string& message, const std::string& param) {
  throw RequestError({.status = 404, .code = "adapter_not_found", .message = message, .param = param});
}

}  // namespace

void read_adapters(const JsonFields& fields, const RequestRules& rules,
                   const std::optional<std::string>& of_model, engine::Request& request) {
  Choices choices = rules.adapters;
  std::string param = fields.path("adapter");
  if (const Json* value = fields.find("adapter")) {
    if (!value->is_string() && !value->is_array()) refuse_type(param, "a string or an array", *value);
    choices = value->is_array() ? read_list(*value, param) : parse_choices(value->get<std::string>(), param);
  } else if (of_model) {
    param = "model";
    if (!engine::is_adapter_id(*of_model))
      not_mounted("there is no adapter " + io::in_quotes(*of_model), param);
    choices = {{.id = *of_model}};
  }
  if (choices.empty()) return;
  if (!rules.select_adapters) not_mounted("there is no adapter " + io::in_quotes(choices.front().id), param);
  try {
    request.adapters = rules.select_adapters(choices);
  } catch (const Error& error) {
    not_mounted(error.what(), param);
  }
}

void count_adapters(Metrics& metrics, const engine::Request& request) {
  if (!request.adapters) return;
  for (const std::string& id : request.adapters->ids)
    metrics.count("lora_requests_total", fmt::format("adapter=\"{}\"", id));
}

}  // namespace lanner::server
