// SPDX-License-Identifier: MIT
#include "cli/batch_result.h"

#include <fmt/format.h>

namespace lanner::cli {
namespace {

using BatchJson = nlohmann::ordered_json;

BatchJson token_entry(const engine::TokenLogprob& token, const text::Tokenizer& tokenizer) {
  const std::string bytes = tokenizer.token_bytes(token.id);
  BatchJson values = BatchJson::array();
  for (const char byte : bytes) values.push_back(static_cast<unsigned char>(byte));
  constexpr double kLeast = -9999;  // JSON has no infinity
  return {{"token", tokenizer.decode({&token.id, 1})},
          {"logprob", std::max(kLeast, double(token.logprob))},
          {"bytes", values},
          {"id", token.id}};
}

BatchJson logprobs_json(const std::vector<engine::LogprobEntry>& entries, const text::Tokenizer& tokenizer) {
  if (entries.empty()) return nullptr;
  BatchJson content = BatchJson::array();
  for (const engine::LogprobEntry& entry : entries) {
    BatchJson one = token_entry(entry.token, tokenizer);
    one["top_logprobs"] = BatchJson::array();
    for (const engine::TokenLogprob& other : entry.top)
      one["top_logprobs"].push_back(token_entry(other, tokenizer));
    content.push_back(std::move(one));
  }
  return {{"content", content}, {"refusal", nullptr}};
}

std::string finish_word(engine::FinishReason reason, std::size_t tool_calls) {
  if (reason == engine::FinishReason::kLength) return "length";
  return tool_calls > 0 ? "tool_calls" : "stop";
}

}  // namespace

BatchResult::Choice& BatchResult::choice(std::size_t index) {
  if (choices_.size() <= index) choices_.resize(index + 1);
  return choices_[index];
}

void BatchResult::take(engine::Event event) {
  if (auto* token = std::get_if<engine::TokenEvent>(&event)) {
    Choice& mine = choice(token->choice);
    for (text::OutputEvent& part : token->text) mine.text.push_back(std::move(part));
    if (token->logprob && token->part == engine::AnswerPart::kContent)
      mine.logprobs.push_back(std::move(*token->logprob));
  } else if (auto* end = std::get_if<engine::ChoiceEnd>(&event)) {
    Choice& mine = choice(end->choice);
    for (const text::OutputEvent& part : end->text) mine.text.push_back(part);
    mine.end = std::move(*end);
  } else if (auto* done = std::get_if<engine::RequestEnd>(&event)) {
    timings_ = done->timings;
  } else if (auto* failure = std::get_if<engine::Failure>(&event)) {
    failure_ = failure->message.empty() ? "the request failed" : failure->message;
  }
}

BatchJson BatchResult::chat_choice(const BatchLine& line, std::size_t index,
                                   const text::Tokenizer& tokenizer) const {
  const Choice& mine = choices_[index];
  const text::ParsedOutput output = text::collect_output(mine.text);
  BatchJson message{{"role", "assistant"}, {"content", output.content}};
  if (!output.reasoning.empty()) message["reasoning_content"] = output.reasoning;
  for (std::size_t i = 0; i < output.tool_calls.size(); ++i)
    message["tool_calls"].push_back(
        {{"id", fmt::format("call_{}_{}_{}", line.number, index, i)},
         {"type", "function"},
         {"function", {{"name", output.tool_calls[i].name}, {"arguments", output.tool_calls[i].arguments}}}});
  if (!output.tool_calls.empty() && output.content.empty()) message["content"] = nullptr;
  return {{"index", index},
          {"message", message},
          {"logprobs", logprobs_json(mine.logprobs, tokenizer)},
          {"finish_reason", finish_word(mine.end.reason, output.tool_calls.size())}};
}

BatchJson BatchResult::body(const BatchLine& line, BatchKind kind, const text::Tokenizer& tokenizer) const {
  BatchJson choices = BatchJson::array();
  std::size_t reasoning = 0;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    reasoning += choices_[i].end.usage.reasoning_tokens;
    if (kind == BatchKind::kChat)
      choices.push_back(chat_choice(line, i, tokenizer));
    else
      choices.push_back({{"index", i},
                         {"text", text::collect_output(choices_[i].text).content},
                         {"logprobs", nullptr},
                         {"finish_reason", finish_word(choices_[i].end.reason, 0)}});
  }
  const std::size_t generated = timings_.generated_tokens;
  return {{"id", fmt::format("batch-{}", line.number)},
          {"object", kind == BatchKind::kChat ? "chat.completion" : "text_completion"},
          {"choices", choices},
          {"usage",
           {{"prompt_tokens", timings_.prompt_tokens},
            {"completion_tokens", generated},
            {"total_tokens", timings_.prompt_tokens + generated},
            {"prompt_tokens_details", {{"cached_tokens", timings_.cached_tokens}}},
            {"completion_tokens_details", {{"reasoning_tokens", reasoning}}}}}};
}

std::string success_line(const BatchLine& line, const BatchJson& body) {
  const std::string id = fmt::format("line-{}", line.number);
  const BatchJson json{{"id", id},
                       {"custom_id", line.custom_id},
                       {"response", {{"status_code", 200}, {"request_id", id}, {"body", body}}},
                       {"error", nullptr}};
  return json.dump(-1, ' ', false, BatchJson::error_handler_t::replace);
}

std::string failure_line(const BatchLine& line, int status_code, const std::string& message) {
  const std::string id = fmt::format("line-{}", line.number);
  const char* type = status_code == 400 ? "invalid_request_error" : "server_error";
  const BatchJson body{
      {"error", {{"message", message}, {"type", type}, {"param", nullptr}, {"code", nullptr}}}};
  const BatchJson json{{"id", id},
                       {"custom_id", line.custom_id},
                       {"response", {{"status_code", status_code}, {"request_id", id}, {"body", body}}},
                       {"error", {{"code", type}, {"message", message}}}};
  return json.dump(-1, ' ', false, BatchJson::error_handler_t::replace);
}

}  // namespace lanner::cli
