// SPDX-License-Identifier: MIT
#include "server/chat_format.h"

#include "server/error_response.h"
#include "server/logprob_json.h"

namespace lanner::server {
namespace {

class ChatFormat final : public AnswerFormat {
 public:
  ChatFormat(const text::Tokenizer& tokenizer, const ChatFormatOptions& options)
      : tokenizer_(&tokenizer), options_(options) {}

  Json whole(const Answer& answer) override;
  std::string opening(const Answer&) override { return {}; }
  std::string piece(const engine::Event& event, const Answer& answer) override;
  std::string closing(const Answer& answer) override;
  std::string failure(const Problem& problem, std::string_view request_id) override {
    return data_event(error_body(problem, ErrorStyle::kOpenAi, request_id));
  }

 private:
  Json whole_choice(const Answer& answer, std::size_t index) const;
  void put_reasoning(Json& target, const std::string& text) const;
  Json chunk(const Answer& answer, Json choices) const;
  std::string delta_event(const Answer& answer, std::size_t index, Json delta, Json logprobs) const;
  /// The delta of one parsed piece; null when it shows nothing.
  Json delta_of(const Answer& answer, std::size_t index, const text::OutputEvent& part) const;
  std::string deltas(const Answer& answer, std::size_t index, const std::vector<text::OutputEvent>& parts,
                     Json logprobs) const;
  std::string start_choice(const Answer& answer, std::size_t index);
  std::string end_choice(const Answer& answer, const engine::ChoiceEnd& end);

  const text::Tokenizer* tokenizer_;
  ChatFormatOptions options_;
  std::set<std::size_t> started_;
};

Json head(const Answer& answer, const char* object) {
  const AnswerFacts& facts = answer.facts();
  return {{"id", facts.id},
          {"object", object},
          {"created", facts.created},
          {"model", facts.model},
          {"system_fingerprint", facts.fingerprint}};
}

void ChatFormat::put_reasoning(Json& target, const std::string& text) const {
  if (options_.reasoning_field != ReasoningField::kReasoning) target["reasoning_content"] = text;
  if (options_.reasoning_field != ReasoningField::kReasoningContent) target["reasoning"] = text;
}

Json ChatFormat::whole_choice(const Answer& answer, std::size_t index) const {
  const AnswerChoice& choice = answer.choice(index);
  Json message{{"role", "assistant"}, {"content", choice.content}};
  if (choice.content.empty() && choice.complete_calls() > 0) message["content"] = nullptr;
  if (!choice.reasoning.empty() && !answer.facts().exclude_reasoning)
    put_reasoning(message, choice.reasoning);
  message["refusal"] = nullptr;
  for (const AnswerCall& call : choice.calls)
    if (call.complete)
      message["tool_calls"].push_back({{"id", call.id},
                                       {"type", "function"},
                                       {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  Json json{{"index", index}, {"message", std::move(message)}, {"logprobs", nullptr}};
  if (options_.logprobs)
    json["logprobs"] = {{"content", logprob_entries_json(choice.logprobs, *tokenizer_)},
                        {"refusal", nullptr}};
  json["finish_reason"] = choice.finish_reason();
  json["stop_reason"] = stop_reason_json(answer, index);
  if (options_.tokens) json["token_ids"] = choice.tokens;
  return json;
}

Json ChatFormat::whole(const Answer& answer) {
  Json json = head(answer, "chat.completion");
  json["choices"] = Json::array();
  for (std::size_t i = 0; i < answer.choices().size(); ++i)
    json["choices"].push_back(whole_choice(answer, i));
  json["usage"] = usage_json(answer);
  const engine::PromptLogprobs& scores = answer.prompt_logprobs().front();
  if (!scores.entries.empty()) json["prompt_logprobs"] = prompt_logprobs_json(scores, *tokenizer_);
  json["lanner"] = extras_json(answer);
  return json;
}

Json ChatFormat::chunk(const Answer& answer, Json choices) const {
  Json json = head(answer, "chat.completion.chunk");
  json["choices"] = std::move(choices);
  if (options_.usage_chunk) json["usage"] = nullptr;
  return json;
}

std::string ChatFormat::delta_event(const Answer& answer, std::size_t index, Json delta,
                                    Json logprobs) const {
  Json choice{{"index", index},
              {"delta", std::move(delta)},
              {"logprobs", std::move(logprobs)},
              {"finish_reason", nullptr}};
  return data_event(chunk(answer, Json::array({std::move(choice)})));
}

Json ChatFormat::delta_of(const Answer& answer, std::size_t index, const text::OutputEvent& part) const {
  using Kind = text::OutputEvent::Kind;
  switch (part.kind) {
    case Kind::kReasoning: {
      if (answer.facts().exclude_reasoning) return nullptr;
      Json delta;
      put_reasoning(delta, part.text);
      return delta;
    }
    case Kind::kContent:
      return {{"content", part.text}};
    case Kind::kToolStart: {
      const AnswerCall& call = answer.choice(index).calls.at(part.call);
      return {{"tool_calls",
               {{{"index", part.call},
                 {"id", call.id},
                 {"type", "function"},
                 {"function", {{"name", call.name}, {"arguments", ""}}}}}}};
    }
    case Kind::kToolArguments:
      return {{"tool_calls", {{{"index", part.call}, {"function", {{"arguments", part.text}}}}}}};
    default:
      return nullptr;  // a broken call stays as it was sent
  }
}

/// Log-probabilities of the token go with its first delta, or alone when it shows nothing yet.
std::string ChatFormat::deltas(const Answer& answer, std::size_t index,
                               const std::vector<text::OutputEvent>& parts, Json logprobs) const {
  std::string events;
  for (const text::OutputEvent& part : parts) {
    Json delta = delta_of(answer, index, part);
    if (!delta.is_null())
      events += delta_event(answer, index, std::move(delta), std::exchange(logprobs, nullptr));
  }
  if (!logprobs.is_null()) events += delta_event(answer, index, Json::object(), std::move(logprobs));
  return events;
}

std::string ChatFormat::start_choice(const Answer& answer, std::size_t index) {
  if (!started_.insert(index).second) return {};
  return delta_event(answer, index, {{"role", "assistant"}, {"content", ""}}, nullptr);
}

std::string ChatFormat::end_choice(const Answer& answer, const engine::ChoiceEnd& end) {
  std::string events = deltas(answer, end.choice, end.text, nullptr);
  if (answer.facts().include_stop && end.stop_string)
    events += delta_event(answer, end.choice, {{"content", *end.stop_string}}, nullptr);
  Json choice{{"index", end.choice},
              {"delta", Json::object()},
              {"logprobs", nullptr},
              {"finish_reason", answer.choice(end.choice).finish_reason()},
              {"stop_reason", stop_reason_json(answer, end.choice)}};
  if (options_.tokens) choice["token_ids"] = answer.choice(end.choice).tokens;
  return events + data_event(chunk(answer, Json::array({std::move(choice)})));
}

std::string ChatFormat::piece(const engine::Event& event, const Answer& answer) {
  if (const auto* token = std::get_if<engine::TokenEvent>(&event)) {
    Json logprobs = nullptr;
    if (options_.logprobs && answer.lists(*token))
      logprobs = {{"content", Json::array({logprob_entry_json(*token->logprob, *tokenizer_)})},
                  {"refusal", nullptr}};
    return start_choice(answer, token->choice) +
           deltas(answer, token->choice, token->text, std::move(logprobs));
  }
  if (const auto* end = std::get_if<engine::ChoiceEnd>(&event))
    return start_choice(answer, end->choice) + end_choice(answer, *end);
  return {};
}

std::string ChatFormat::closing(const Answer& answer) {
  std::string events;
  if (options_.usage_chunk || options_.timings) {
    Json json = chunk(answer, Json::array());
    if (options_.usage_chunk) json["usage"] = usage_json(answer);
    json["lanner"] = extras_json(answer);
    events = data_event(json);
  }
  return events + "data: [DONE]\n\n";
}

}  // namespace

Json stop_reason_json(const Answer& answer, std::size_t choice) {
  if (const auto text = answer.stop_text(choice)) return *text;
  if (const auto id = answer.stop_id(choice)) return *id;
  return nullptr;
}

Json usage_json(const Answer& answer) {
  const engine::ChoiceUsage usage = answer.usage();
  const std::size_t prompt = answer.prompt_tokens();
  return {{"prompt_tokens", prompt},
          {"completion_tokens", usage.generated_tokens},
          {"total_tokens", prompt + usage.generated_tokens},
          {"prompt_tokens_details", {{"cached_tokens", answer.cached_tokens()}}},
          {"completion_tokens_details",
           {{"reasoning_tokens", usage.reasoning_tokens},
            {"accepted_prediction_tokens", usage.accepted_tokens},
            {"rejected_prediction_tokens", usage.drafted_tokens - usage.accepted_tokens}}}};
}

Json extras_json(const Answer& answer) {
  const engine::Timings& timings = answer.timings();
  const engine::ChoiceUsage usage = answer.usage();
  const std::string& adapter = answer.facts().adapter;
  return {{"seed", answer.facts().seed},
          {"adapter", adapter.empty() ? Json(nullptr) : Json(adapter)},
          {"timings",
           {{"queue_ms", 1000 * timings.queue_seconds},
            {"prompt_n", timings.prompt_tokens - timings.cached_tokens},
            {"prompt_ms", 1000 * timings.prompt_seconds},
            {"predicted_n", timings.generated_tokens},
            {"predicted_ms", 1000 * timings.decode_seconds},
            {"draft_n", usage.drafted_tokens},
            {"draft_accepted", usage.accepted_tokens}}}};
}

std::unique_ptr<AnswerFormat> make_chat_format(const text::Tokenizer& tokenizer,
                                               const ChatFormatOptions& options) {
  return std::make_unique<ChatFormat>(tokenizer, options);
}

}  // namespace lanner::server
