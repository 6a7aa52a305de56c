// SPDX-License-Identifier: MIT
#include "cli/batch_request.h"

#include <fmt/format.h>

#include <charconv>

#include "core/error.h"
#include "engine/chat_prompt.h"
#include "io/fields.h"
#include "io/json.h"

namespace lanner::cli {
namespace {

constexpr const char* kChatUrl = "/v1/chat/completions";
constexpr const char* kCompletionUrl = "/v1/completions";
constexpr io::IntRange kTokenCount{.min = 0, .max = 1 << 30};

template <typename T>
void take_number(const io::Fields& body, std::string_view key, io::NumberRange range, T& value) {
  if (const auto found = body.find_number(key, range)) value = static_cast<T>(*found);
}

void read_penalties(const io::Fields& body, engine::SamplingOptions& sampling) {
  take_number(body, "presence_penalty", {.min = -100, .max = 100}, sampling.presence_penalty);
  take_number(body, "frequency_penalty", {.min = -100, .max = 100}, sampling.frequency_penalty);
  take_number(body, "repetition_penalty", {.min = 0.01, .max = 100}, sampling.repetition_penalty);
  take_number(body, "repeat_penalty", {.min = 0.01, .max = 100}, sampling.repetition_penalty);
}

void read_bias(const io::Fields& body, engine::SamplingOptions& sampling) {
  const auto bias = body.find_object("logit_bias");
  if (!bias) return;
  for (const std::string& key : bias->keys()) {
    TokenId id = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size())
      throw bias->unexpected(key, "a token id as its key");
    sampling.logit_bias[id] = static_cast<float>(bias->required_number(key));
  }
}

void read_sampling(const io::Fields& body, engine::Request& request) {
  engine::SamplingOptions& sampling = request.sampling;
  take_number(body, "temperature", {.min = 0, .max = 5}, sampling.temperature);
  take_number(body, "top_p", {.min = 0, .max = 1}, sampling.top_p);
  take_number(body, "min_p", {.min = 0, .max = 1}, sampling.min_p);
  if (sampling.top_p == 0) sampling.top_p = 1;
  if (const auto k = body.find_int("top_k", {.min = -1, .max = 1 << 30}))
    sampling.top_k = static_cast<std::size_t>(std::max<std::int64_t>(*k, 0));
  if (const auto seed = body.find_int("seed")) sampling.seed = static_cast<std::uint64_t>(*seed);
  read_penalties(body, sampling);
  read_bias(body, sampling);
}

void read_ends(const io::Fields& body, engine::Request& request) {
  if (const io::Json* stop = body.find("stop"))
    request.stop = stop->is_string() ? std::vector<std::string>{stop->get<std::string>()}
                                     : body.required_strings("stop");
  if (const auto ids = body.find_ints("stop_token_ids", {.min = 0, .max = 0x7fffffff}))
    request.stop_ids.assign(ids->begin(), ids->end());
  request.min_tokens = static_cast<std::size_t>(body.optional_int("min_tokens", 0, kTokenCount));
  if (body.optional_bool("ignore_eos", false)) request.end_of_text = engine::EndOfText::kBanned;
  for (const char* key : {"max_tokens", "max_completion_tokens"})
    if (const auto most = body.find_int(key, kTokenCount))
      request.max_tokens = static_cast<std::size_t>(*most);
  request.choices = static_cast<std::size_t>(body.optional_int("n", 1, {.min = 1, .max = 16}));
}

text::ThinkingSwitch thinking_switch(const io::Fields& body) {
  if (const auto effort = body.find_string("reasoning_effort"))
    return *effort == "none" ? text::ThinkingSwitch::kOff : text::ThinkingSwitch::kOn;
  if (const auto more = body.find_object("chat_template_kwargs"))
    if (const auto on = more->find_bool("enable_thinking"))
      return *on ? text::ThinkingSwitch::kOn : text::ThinkingSwitch::kOff;
  return text::ThinkingSwitch::kTemplateDefault;
}

void read_chat(const io::Fields& body, const std::string& line, const engine::LoadedModel& model,
               engine::Request& request) {
  // The template sees objects in the order they were written.
  const nlohmann::ordered_json ordered = nlohmann::ordered_json::parse(line)["body"];
  if (!body.has("messages")) throw body.unexpected("messages", "an array of messages");
  text::ChatInput input{.thinking = thinking_switch(body)};
  input.messages = ordered["messages"];
  if (body.has("tools")) input.tools = ordered["tools"];
  engine::ChatPrompt prompt = engine::encode_chat_prompt(model.text(), input);
  request.prompt = std::move(prompt.ids);
  request.checkpoints = std::move(prompt.checkpoints);
  request.tools = input.tools;
  if (body.optional_bool("logprobs", false))
    request.top_logprobs =
        static_cast<std::size_t>(body.optional_int("top_logprobs", 0, {.min = 0, .max = 20}));
  if (const auto budget = body.find_int("thinking_budget", kTokenCount))
    request.thinking_budget = static_cast<std::size_t>(*budget);
}

}  // namespace

std::string read_custom_id(std::string_view line, const std::string& where) {
  const io::Json json = io::parse_json(line, where);
  if (!json.is_object())
    throw Error(ErrorKind::kCorrupt, where + ": expected an object with custom_id, url and body");
  return io::Fields(json, where).required_string("custom_id");
}

BatchRequest read_batch_request(const BatchLine& line, const SamplingArguments& arguments,
                                const engine::LoadedModel& model) {
  const io::Json json = io::parse_json(line.text, fmt::format("line {}", line.number));
  const io::Fields fields(json, fmt::format("line {}", line.number));
  const io::Fields body = fields.required_object("body");
  const std::string url = fields.optional_string("url", kChatUrl);
  if (url != kChatUrl && url != kCompletionUrl)
    throw fields.unexpected("url", fmt::format("{} or {}", kChatUrl, kCompletionUrl));

  BatchRequest batch{.kind = url == kChatUrl ? BatchKind::kChat : BatchKind::kCompletion, .request = {}};
  std::vector<TokenId> prompt;
  if (batch.kind == BatchKind::kCompletion) prompt = model.encode_plain(body.required_string("prompt"));
  batch.request = answer_request(arguments, std::move(prompt), model);
  batch.request.sampling =
      sampling_options(arguments, model.defaults(), model.tokenizer().vocab_size(), random_seed());
  if (batch.kind == BatchKind::kChat)
    read_chat(body, line.text, model, batch.request);
  else
    batch.request.form = engine::AnswerForm::kPlain;
  if (const auto adapter = body.find_string("adapter"))
    batch.adapters = engine::parse_adapter_choices(*adapter);
  read_sampling(body, batch.request);
  read_ends(body, batch.request);
  return batch;
}

}  // namespace lanner::cli
