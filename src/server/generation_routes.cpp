// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <ctime>

#include "server/adapter_fields.h"
#include "server/chat_format.h"
#include "server/chat_request.h"
#include "server/completion_format.h"
#include "server/completion_request.h"
#include "server/generation_plan.h"
#include "server/output_constraint.h"
#include "server/problem.h"
#include "server/prompt.h"
#include "server/request_ids.h"
#include "server/routes.h"

namespace lanner::server {
namespace {

/// Longer than an hour is for `timeout_ms`.
constexpr std::int64_t kMostHeaderTimeoutMs = std::int64_t{1000} * 3600 * 24 * 30;

/// X-Request-Timeout-Ms, unless the body said it.
void apply_timeout_header(const HttpRequest& http, const Json& body, engine::Request& request) {
  const auto header = http.header("x-request-timeout-ms");
  if (!header || body.contains("timeout_ms")) return;
  std::int64_t ms = 0;
  const auto [end, error] = std::from_chars(header->data(), header->data() + header->size(), ms);
  if (error != std::errc() || end != header->data() + header->size() || ms < 1 || ms > kMostHeaderTimeoutMs)
    refuse_field("X-Request-Timeout-Ms", "invalid_value",
                 "X-Request-Timeout-Ms must be a whole number of milliseconds");
  request.timeout = std::chrono::milliseconds(ms);
}

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

}  // namespace

void default_length(engine::Request& request, std::size_t default_tokens, const RequestRules& rules) {
  if (!request.max_tokens) request.context = std::min(rules.context, request.prompt.size() + default_tokens);
}

void start_plan(const Service::Call& call, GenerationPlan plan, const GenerationFields& generation) {
  const std::uint64_t seed = generation.seeded ? generation.request.sampling.seed : random_seed();
  for (engine::Request& request : plan.requests) {
    request.sampling.seed = seed;
    plan.facts.prompt_tokens.push_back(request.prompt.size());
    count_adapters(*call.metrics, request);
  }
  plan.facts.model = call.served->rules.model;
  plan.facts.fingerprint = call.served->fingerprint;
  plan.facts.created = std::time(nullptr);
  plan.facts.seed = seed;
  if (const auto& adapters = generation.request.adapters) plan.facts.adapter = adapters->name;
  plan.facts.include_stop = generation.include_stop;
  plan.facts.log_all_tokens = generation.log_all_tokens;
  plan.facts.exclude_reasoning = generation.exclude_reasoning;
  plan.facts.stop_ids = generation.request.stop_ids;
  plan.delivery = generation.delivery;
  GenerationSession::start({call.exchange, call.served, call.metrics, call.live}, std::move(plan));
}

engine::Request chat_engine_request(const Service::Call& call, const ChatRequest& chat, const Json& body) {
  engine::Request request = chat.generation.request;
  RenderedPrompt prompt = render_prompt(call.served->model->text(), chat);
  request.prompt = std::move(prompt.ids);
  request.checkpoints = std::move(prompt.checkpoints);
  request.form = engine::AnswerForm::kChat;
  request.tools = chat.input.tools;
  request.constraint = output_constraint(*call.served, chat);
  apply_timeout_header(call.request(), body, request);
  default_length(request, call.served->rules.chat_tokens, call.served->rules);
  return request;
}

void chat_completions(const Service::Call& call) {
  const Json body = parse_body(call.request().body);
  const ChatRequest chat = read_chat_request(body, call.served->rules);
  GenerationPlan plan;
  plan.requests.push_back(chat_engine_request(call, chat, body));
  plan.facts.id = random_id("chatcmpl-");
  plan.format =
      make_chat_format(call.served->model->tokenizer(), chat_format_options(chat, call.served->rules));
  start_plan(call, std::move(plan), chat.generation);
}

void completions(const Service::Call& call) {
  const Json body = parse_body(call.request().body);
  const CompletionRequest completion = read_completion_request(body, call.served->rules);
  const engine::TextParts& parts = call.served->model->text();
  CompletionFormatOptions options{.kept_choices = completion.kept_choices,
                                  .choices = completion.generation.request.choices,
                                  .logprobs = completion.generation.request.top_logprobs.has_value(),
                                  .usage_chunk = completion.generation.include_usage,
                                  .tokens = completion.generation.return_tokens};
  GenerationPlan plan;
  for (const PlainPrompt& prompt : completion.prompts) {
    engine::Request request = completion.generation.request;
    request.prompt = prompt_tokens(prompt, completion, parts);
    if (request.prompt.empty())
      refuse_field("prompt", "invalid_value", "prompt is empty, there is nothing to continue");
    request.constraint = output_constraint(*call.served, completion.shape);
    if (completion.kept_choices < request.choices && !request.top_logprobs) request.top_logprobs = 0;
    apply_timeout_header(call.request(), body, request);
    default_length(request, call.served->rules.completion_tokens, call.served->rules);
    if (completion.echo) {
      options.echo.push_back(prompt_text(prompt, parts));
      options.prompts.push_back(request.prompt);
    }
    plan.requests.push_back(std::move(request));
  }
  plan.facts.id = random_id("cmpl-");
  plan.prompt_field = "prompt";
  plan.format = make_completion_format(call.served->model->tokenizer(), std::move(options));
  start_plan(call, std::move(plan), completion.generation);
}

}  // namespace lanner::server
