// SPDX-License-Identifier: MIT
#include "server/generation_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "io/message_text.h"
#include "server/adapter_fields.h"
#include "server/problem.h"
#include "server/sampling_fields.h"

namespace lanner::server {
namespace {

constexpr std::int64_t kMostChoices = 16;
constexpr std::size_t kMostStops = 16;
constexpr std::int64_t kMostTokensAsked = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kDeepestDraft = 16;

void read_stream(const JsonFields& fields, GenerationFields& generation) {
  generation.delivery = fields.flag("stream") ? Delivery::kStream : Delivery::kWhole;
  if (const Json* options = fields.object("stream_options")) {
    const JsonFields stream(*options, fields.path("stream_options"));
    generation.include_usage = stream.flag("include_usage");
    generation.include_timings = stream.flag("include_timings");
  }
}

void read_ends(const JsonFields& fields, const RequestRules& rules, GenerationFields& generation) {
  engine::Request& request = generation.request;
  request.stop = read_stops(fields, "stop");
  if (auto ids = fields.token_ids("stop_token_ids", rules.vocabulary)) request.stop_ids = std::move(*ids);
  if (fields.flag("ignore_eos")) request.end_of_text = engine::EndOfText::kBanned;
  if (const auto tokens = fields.integer("min_tokens", {0, kMostTokensAsked}))
    request.min_tokens = static_cast<std::size_t>(*tokens);
  generation.include_stop = fields.flag("include_stop_str_in_output");
}

void read_speculation(const JsonFields& fields, const RequestRules& rules, engine::Request& request) {
  request.draft_tokens = rules.draft_tokens;
  const Json* value = fields.find("speculation");
  if (value == nullptr) return;
  if (value->is_boolean()) {
    if (!value->get<bool>()) request.draft_tokens = 0;
    return;
  }
  const JsonFields speculation(*value, fields.path("speculation"));
  if (const auto depth = speculation.integer("max_depth", {0, kDeepestDraft}))
    request.draft_tokens = static_cast<std::size_t>(*depth);
  if (!speculation.boolean("enabled").value_or(true)) request.draft_tokens = 0;
}

void accept_ignored(const JsonFields& fields) {
  for (const char* name : {"user", "metadata", "store", "service_tier", "safety_identifier",
                           "prompt_cache_key", "prediction", "verbosity"})
    (void)fields.find(name);
}

}  // namespace

std::optional<std::size_t> read_top_logprobs(const JsonFields& fields) {
  const Json* value = fields.find("top_logprobs");
  if (value != nullptr && *value == -1) return std::nullopt;
  const auto top = fields.integer("top_logprobs", {0, 20});
  return top ? std::optional(static_cast<std::size_t>(*top)) : std::nullopt;
}

void read_service(const JsonFields& fields, const RequestRules& rules, engine::Request& request) {
  if (const auto priority = fields.integer("priority", {-100, 100}))
    request.priority = static_cast<int>(*priority);
  request.timeout = rules.timeout;
  request.queue_timeout = rules.queue_timeout;
  if (const auto timeout = fields.integer("timeout_ms", {1, kLongestTimeoutMs}))
    request.timeout = std::chrono::milliseconds(*timeout);
  if (const Json* cache = fields.object("cache")) {
    const JsonFields use(*cache, fields.path("cache"));
    request.prefix.read = use.boolean("read").value_or(true);
    request.prefix.write = use.boolean("write").value_or(true);
    (void)use.boolean("exact");  // reuse is always exact here
  }
}

std::vector<std::string> read_stops(const JsonFields& fields, std::string_view name) {
  const Json* value = fields.find(name);
  if (value == nullptr) return {};
  std::vector<std::string> stops;
  const auto add = [&](const Json& text, const std::string& at) {
    if (!text.is_string()) refuse_type(at, "a string", text);
    if (text.get_ref<const std::string&>().empty()) refuse_field(at, "invalid_value", at + " is empty");
    stops.push_back(text.get<std::string>());
  };
  const std::string at = fields.path(name);
  if (value->is_string()) {
    add(*value, at);
    return stops;
  }
  if (!value->is_array()) refuse_type(at, "a string or an array of strings", *value);
  if (value->size() > kMostStops)
    refuse_field(at, "invalid_value",
                 fmt::format("{} has {} entries, expected at most {}", at, value->size(), kMostStops));
  for (const Json& text : *value) add(text, fmt::format("{}[{}]", at, stops.size()));
  return stops;
}

std::optional<std::string> check_model(const std::string& model, const RequestRules& rules) {
  if (model.empty()) return std::nullopt;
  const auto is_served = [&](std::string_view name) {
    return name == rules.model || std::ranges::find(rules.aliases, name) != rules.aliases.end();
  };
  if (is_served(model)) return std::nullopt;
  const std::size_t colon = model.rfind(':');
  if (colon != std::string::npos && is_served(std::string_view(model).substr(0, colon)))
    return model.substr(colon + 1);
  if (rules.unknown_models == UnknownModels::kRefused)
    throw RequestError({.status = 404,
                        .code = "model_not_found",
                        .message = fmt::format("there is no model {}, this server has {}",
                                               io::in_quotes(model), io::in_quotes(rules.model)),
                        .param = "model"});
  return std::nullopt;
}

void read_max_tokens(const JsonFields& fields, GenerationFields& generation) {
  const auto first = fields.integer("max_completion_tokens", {0, kMostTokensAsked});
  const auto second = fields.integer("max_tokens", {0, kMostTokensAsked});
  if (const auto tokens = first ? first : second)
    generation.request.max_tokens = static_cast<std::size_t>(*tokens);
}

GenerationFields read_generation(const JsonFields& fields, const RequestRules& rules) {
  GenerationFields generation;
  engine::Request& request = generation.request;
  generation.model = fields.string("model").value_or(std::string());
  const std::optional<std::string> model_adapter = check_model(generation.model, rules);
  read_stream(fields, generation);
  request.sampling = read_sampling(fields, rules);
  if (const auto seed = fields.integer(
          "seed", {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()})) {
    request.sampling.seed = static_cast<std::uint64_t>(*seed);
    generation.seeded = true;
  }
  request.choices = static_cast<std::size_t>(fields.integer("n", {1, kMostChoices}).value_or(1));
  if (request.choices > 1 && request.sampling.temperature == 0)
    refuse_field(fields.path("n"), "invalid_value",
                 "n is above 1 and the temperature 0: all choices would be equal");
  read_ends(fields, rules, generation);
  read_speculation(fields, rules, request);
  read_service(fields, rules, request);
  read_adapters(fields, rules, model_adapter, request);
  if (const auto top = fields.integer("prompt_logprobs", {0, 20}))
    request.prompt_logprobs = static_cast<std::size_t>(*top);
  generation.return_tokens = fields.flag("return_token_ids");
  accept_ignored(fields);
  return generation;
}

}  // namespace lanner::server
