// SPDX-License-Identifier: MIT
#include "server/completion_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "server/problem.h"

namespace lanner::server {
namespace {

constexpr std::size_t kMostPrompts = 128;

/// A number (OpenAI's older form) or a bool.
void read_legacy_logprobs(const JsonFields& fields, GenerationFields& generation) {
  const Json* value = fields.find("logprobs");
  if (value == nullptr) return;
  if (value->is_boolean()) {
    const auto top = read_top_logprobs(fields).value_or(0);
    if (value->get<bool>()) generation.request.top_logprobs = top;
    return;
  }
  if (const auto top = fields.integer("logprobs", {0, 20}))
    generation.request.top_logprobs = static_cast<std::size_t>(*top);
}

void read_best_of(const JsonFields& fields, CompletionRequest& completion) {
  engine::Request& request = completion.generation.request;
  completion.kept_choices = request.choices;
  const auto best_of = fields.integer("best_of", {1, 16});
  if (!best_of) return;
  const auto candidates = static_cast<std::size_t>(*best_of);
  if (candidates < request.choices)
    refuse_field("best_of", "invalid_value",
                 fmt::format("best_of is {} and n is {}, expected at least n", candidates, request.choices));
  if (candidates > request.choices) {
    if (completion.generation.delivery == Delivery::kStream)
      refuse_field("best_of", "unsupported_value", "best_of above n cannot be streamed");
    if (request.sampling.temperature == 0)
      refuse_field("best_of", "invalid_value",
                   "best_of is above 1 and the temperature 0: all would be equal");
  }
  request.choices = candidates;
}

}  // namespace

std::vector<PlainPrompt> read_plain_prompts(const JsonFields& fields, std::string_view name,
                                            std::size_t vocabulary, std::size_t most) {
  const Json& value = fields.require(name);
  const std::string path = fields.path(name);
  if (value.is_string()) return {value.get<std::string>()};
  if (!value.is_array()) refuse_type(path, "a string or an array", value);
  if (value.empty()) refuse_field(path, "invalid_value", path + " is empty");
  if (value.front().is_number()) return {read_token_ids(value, path, vocabulary)};
  if (value.size() > most)
    refuse_field(path, "invalid_value",
                 fmt::format("{} has {} entries, expected at most {}", path, value.size(), most));
  std::vector<PlainPrompt> prompts;
  for (const Json& entry : value) {
    const std::string at = fmt::format("{}[{}]", path, prompts.size());
    if (entry.is_string())
      prompts.emplace_back(entry.get<std::string>());
    else if (entry.is_array())
      prompts.emplace_back(read_token_ids(entry, at, vocabulary));
    else
      refuse_type(at, "a string or an array of token ids", entry);
  }
  return prompts;
}

CompletionRequest read_completion_request(const Json& body, const RequestRules& rules) {
  const JsonFields fields(body);
  CompletionRequest completion;
  completion.prompts = read_plain_prompts(fields, "prompt", rules.vocabulary, kMostPrompts);
  completion.generation = read_generation(fields, rules);
  engine::Request& request = completion.generation.request;
  request.form = engine::AnswerForm::kPlain;
  read_max_tokens(fields, completion.generation);
  read_legacy_logprobs(fields, completion.generation);
  read_best_of(fields, completion);
  completion.echo = fields.flag("echo");
  completion.prompt_logprobs = request.prompt_logprobs.has_value();
  if (completion.echo && request.top_logprobs)
    request.prompt_logprobs = std::max(request.prompt_logprobs.value_or(0), *request.top_logprobs);
  completion.add_special_tokens = fields.boolean("add_special_tokens").value_or(true);
  if (fields.string("suffix"))
    refuse_field("suffix", "unsupported_value", "suffix needs a model that fills in the middle");
  completion.shape = read_output_shape(fields);
  if (rules.unknown_fields == UnknownFields::kRefused) fields.refuse_unknown();
  return completion;
}

}  // namespace lanner::server
