// SPDX-License-Identifier: MIT
#include "server/generation_plan.h"

#include <algorithm>
#include <ctime>

#include "server/chat_format.h"
#include "server/completion_format.h"
#include "server/completion_request.h"
#include "server/output_constraint.h"
#include "server/problem.h"
#include "server/prompt.h"
#include "server/request_ids.h"

namespace lanner::server {
namespace {

ChatFormatOptions chat_format_options(const ChatRequest& chat, const RequestRules& rules) {
  const GenerationFields& generation = chat.generation;
  return {.reasoning_field = rules.reasoning_field,
          .logprobs = generation.request.top_logprobs.has_value(),
          .usage_chunk = generation.include_usage,
          .timings = generation.include_timings,
          .tokens = generation.return_tokens};
}

std::vector<TokenId> prompt_tokens(const PlainPrompt& prompt, const CompletionRequest& completion,
                                   const engine::TextParts& parts) {
  if (const auto* ids = std::get_if<std::vector<TokenId>>(&prompt)) return *ids;
  return encode_text(parts, std::get<std::string>(prompt),
                     completion.add_special_tokens ? BeginningTokens::kAdd : BeginningTokens::kOmit);
}

std::string prompt_text(const PlainPrompt& prompt, const engine::TextParts& parts) {
  if (const auto* ids = std::get_if<std::vector<TokenId>>(&prompt))
    return parts.tokenizer().decode(*ids, {.special_tokens = text::SpecialTokens::kSkip});
  return std::get<std::string>(prompt);
}

/// Gives an answer without max_tokens the room it has by default.
void default_length(engine::Request& request, std::size_t default_tokens, const RequestRules& rules) {
  if (!request.max_tokens) request.context = std::min(rules.context, request.prompt.size() + default_tokens);
}

}  // namespace

engine::Request chat_engine_request(const ServedModel& served, const ChatRequest& chat) {
  engine::Request request = chat.generation.request;
  RenderedPrompt prompt = render_prompt(served.model->text(), chat);
  request.prompt = std::move(prompt.ids);
  request.checkpoints = std::move(prompt.checkpoints);
  request.form = engine::AnswerForm::kChat;
  request.tools = chat.input.tools;
  request.constraint = output_constraint(served, chat);
  default_length(request, served.rules.chat_tokens, served.rules);
  return request;
}

void complete_plan(GenerationPlan& plan, const ServedModel& served, const GenerationFields& generation) {
  const std::uint64_t seed = generation.seeded ? generation.request.sampling.seed : random_seed();
  for (engine::Request& request : plan.requests) {
    request.sampling.seed = seed;
    plan.facts.prompt_tokens.push_back(request.prompt.size());
  }
  plan.facts.model = served.rules.model;
  plan.facts.fingerprint = served.fingerprint;
  plan.facts.created = std::time(nullptr);
  plan.facts.seed = seed;
  if (const auto& adapters = generation.request.adapters) plan.facts.adapter = adapters->name;
  plan.facts.include_stop = generation.include_stop;
  plan.facts.log_all_tokens = generation.log_all_tokens;
  plan.facts.exclude_reasoning = generation.exclude_reasoning;
  plan.facts.stop_ids = generation.request.stop_ids;
  plan.facts.delivery = plan.delivery = generation.delivery;
}

GenerationPlan chat_plan(const ServedModel& served, const Json& body) {
  const ChatRequest chat = read_chat_request(body, served.rules);
  GenerationPlan plan;
  plan.requests.push_back(chat_engine_request(served, chat));
  plan.facts.id = random_id("chatcmpl-");
  plan.format = make_chat_format(served.model->tokenizer(), chat_format_options(chat, served.rules));
  complete_plan(plan, served, chat.generation);
  return plan;
}

GenerationPlan completion_plan(const ServedModel& served, const Json& body) {
  const CompletionRequest completion = read_completion_request(body, served.rules);
  const engine::TextParts& parts = served.model->text();
  CompletionFormatOptions options{.kept_choices = completion.kept_choices,
                                  .choices = completion.generation.request.choices,
                                  .logprobs = completion.generation.request.top_logprobs.has_value(),
                                  .usage_chunk = completion.generation.include_usage,
                                  .tokens = completion.generation.return_tokens,
                                  .prompt_logprobs = completion.prompt_logprobs};
  GenerationPlan plan;
  for (const PlainPrompt& prompt : completion.prompts) {
    engine::Request request = completion.generation.request;
    request.prompt = prompt_tokens(prompt, completion, parts);
    if (request.prompt.empty())
      refuse_field("prompt", "invalid_value", "prompt is empty, there is nothing to continue");
    request.constraint = output_constraint(served, completion.shape);
    if (completion.kept_choices < request.choices && !request.top_logprobs) request.top_logprobs = 0;
    default_length(request, served.rules.completion_tokens, served.rules);
    if (completion.echo) {
      options.echo.push_back(prompt_text(prompt, parts));
      options.prompts.push_back(request.prompt);
    }
    plan.requests.push_back(std::move(request));
  }
  plan.facts.id = random_id("cmpl-");
  plan.prompt_field = "prompt";
  plan.format = make_completion_format(served.model->tokenizer(), std::move(options));
  complete_plan(plan, served, completion.generation);
  return plan;
}

}  // namespace lanner::server
