// SPDX-License-Identifier: MIT
#include "cli/batch_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "server/json_fields.h"
#include "server/problem.h"

namespace lanner::cli {
namespace {

using server::Json;

constexpr const char* kChatUrl = "/v1/chat/completions";
constexpr const char* kCompletionUrl = "/v1/completions";

/// The options that the server has no defaults for.
void apply_options(const Json& body, const SamplingArguments& arguments, server::GenerationPlan& plan) {
  if (arguments.seed && !body.contains("seed")) plan.facts.seed = *arguments.seed;
  for (engine::Request& request : plan.requests) {
    request.sampling.seed = plan.facts.seed;
    if (!body.contains("stop")) request.stop = arguments.stop;
    if (arguments.ignore_eos && !body.contains("ignore_eos"))
      request.end_of_text = engine::EndOfText::kBanned;
    if (!request.context && arguments.context > 0) request.context = arguments.context;
  }
}

}  // namespace

std::string read_custom_id(std::string_view line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("custom_id") || !json["custom_id"].is_string()) return {};
  return json["custom_id"];
}

void set_defaults(const SamplingArguments& arguments, const engine::LoadedModel& model,
                  server::RequestRules& rules) {
  if (arguments.context > 0) rules.context = std::min(rules.context, arguments.context);
  rules.sampling = sampling_options(arguments, model.defaults(), model.tokenizer().vocab_size(), 0);
  rules.chat_tokens =
      arguments.max_tokens >= 0 ? static_cast<std::size_t>(arguments.max_tokens) : rules.context;
  rules.completion_tokens = rules.chat_tokens;
  rules.draft_tokens = arguments.draft_tokens;
}

server::GenerationPlan batch_plan(const BatchLine& line, const SamplingArguments& arguments,
                                  const server::ServedModel& served) {
  const Json json = server::parse_body(line.text);
  const server::JsonFields fields(json);
  if (line.custom_id.empty()) (void)fields.require_string("custom_id");
  if (line.custom_id.empty()) server::refuse_field("custom_id", "invalid_value", "custom_id is empty");
  const std::string url = fields.string("url").value_or(kChatUrl);
  if (url != kChatUrl && url != kCompletionUrl)
    server::refuse_field("url", "invalid_value",
                         fmt::format("url is neither {} nor {}", kChatUrl, kCompletionUrl));
  fields.require("body");
  Json body = *fields.object("body");
  body.erase("stream");  // a line is one answer
  server::GenerationPlan plan =
      url == kChatUrl ? server::chat_plan(served, body) : server::completion_plan(served, body);
  apply_options(body, arguments, plan);
  return plan;
}

}  // namespace lanner::cli
