// SPDX-License-Identifier: MIT
#include "server/responses_format.h"

#include <span>
#include <utility>

#include "server/logprob_json.h"
#include "server/responses_items.h"

namespace lanner::server {
namespace {

class ResponsesFormat final : public AnswerFormat {
 public:
  ResponsesFormat(const text::Tokenizer& tokenizer, ResponsesFormatOptions options)
      : tokenizer_(&tokenizer), options_(std::move(options)) {}

  Json whole(const Answer& answer) override;
  std::string opening(const Answer& answer) override;
  std::string piece(const engine::Event& happened, const Answer& answer) override;
  std::string closing(const Answer& answer) override;
  std::string failure(const Problem& problem, std::string_view request_id) override;

 private:
  enum class Item : std::uint8_t { kNone, kReasoning, kMessage, kCall };

  Json response(const Answer& answer, const char* status) const;
  std::string event(const char* type, const Json& fields);
  std::string show_part(const text::OutputEvent& part, const Answer& answer);
  std::string enter(Item item, const Answer& answer, std::size_t call);
  std::string leave(const Answer& answer);
  Json in_part(Json fields) const;
  Json text_logprobs(const AnswerChoice& choice, const AnswerBlock& block) const;
  /// What is complete of the answer.
  Json items(const Answer& answer) const;

  const text::Tokenizer* tokenizer_;
  ResponsesFormatOptions options_;
  Json last_ = Json::object();  ///< the response as far as it was told, for a failure
  int sequence_ = 0;
  Item open_ = Item::kNone;
  std::size_t call_ = 0;                 ///< the open one
  std::size_t index_ = 0;                ///< of the open or the next item
  std::string text_;                     ///< of the open item
  Json event_logprobs_ = Json::array();  ///< not yet told with an item
};

Json responses_usage(const Answer& answer) {
  const engine::ChoiceUsage usage = answer.usage();
  return {{"input_tokens", answer.prompt_tokens()},
          {"input_tokens_details", {{"cached_tokens", answer.cached_tokens()}}},
          {"output_tokens", usage.generated_tokens},
          {"output_tokens_details", {{"reasoning_tokens", usage.reasoning_tokens}}},
          {"total_tokens", answer.prompt_tokens() + usage.generated_tokens}};
}

bool is_cut(const Answer& answer) {
  const auto& end = answer.choice(0).end;
  return end && end->reason == engine::FinishReason::kLength;
}

/// Of the last item.
const char* message_status(const Answer& answer) { return is_cut(answer) ? "incomplete" : "completed"; }

Json ResponsesFormat::text_logprobs(const AnswerChoice& choice, const AnswerBlock& block) const {
  if (!options_.logprobs) return Json::array();
  return logprob_entries_json(
      std::span(choice.logprobs).subspan(block.logprobs_begin, block.logprobs_end - block.logprobs_begin),
      *tokenizer_);
}

Json ResponsesFormat::response(const Answer& answer, const char* status) const {
  Json json{{"id", answer.facts().id},
            {"object", "response"},
            {"created_at", answer.facts().created},
            {"status", status},
            {"incomplete_details", nullptr},
            {"error", nullptr},
            {"model", answer.facts().model},
            {"output", Json::array()}};
  json.update(options_.echo);
  json["usage"] = nullptr;
  return json;
}

const char* status_of(const AnswerCall& call) { return call.complete ? "completed" : "incomplete"; }

Json ResponsesFormat::items(const Answer& answer) const {
  const AnswerChoice& choice = answer.choice(0);
  const ItemIds ids(answer.facts().id);
  Json output = Json::array();
  for (const AnswerBlock& block : choice.blocks) {
    const std::size_t index = output.size();
    if (block.kind == AnswerBlock::Kind::kReasoning) {
      output.push_back(reasoning_item(ids.reasoning(index), block.text));
    } else if (block.kind == AnswerBlock::Kind::kContent) {
      const bool is_last = &block == &choice.blocks.back();
      output.push_back(message_item(ids.message(index), block.text, text_logprobs(choice, block),
                                    is_last ? message_status(answer) : "completed"));
    } else {
      const AnswerCall& call = choice.calls.at(block.call);
      output.push_back(call_item(call, status_of(call)));
    }
  }
  if (output.empty())
    output.push_back(message_item(ids.message(0), {}, Json::array(), message_status(answer)));
  return output;
}

Json ResponsesFormat::whole(const Answer& answer) {
  Json json = response(answer, is_cut(answer) ? "incomplete" : "completed");
  if (is_cut(answer)) json["incomplete_details"] = {{"reason", "max_output_tokens"}};
  json["output"] = items(answer);
  json["output_text"] = answer.choice(0).content;
  json["usage"] = responses_usage(answer);
  return json;
}

std::string ResponsesFormat::event(const char* type, const Json& fields) {
  Json json{{"type", type}, {"sequence_number", sequence_++}};
  json.update(fields);
  return named_event(type, json);
}

std::string ResponsesFormat::opening(const Answer& answer) {
  last_ = response(answer, "in_progress");
  std::string events = event("response.created", {{"response", last_}});
  return events += event("response.in_progress", {{"response", last_}});
}

/// The place that events about the open item's text name.
Json ResponsesFormat::in_part(Json fields) const {
  fields["output_index"] = index_;
  if (open_ != Item::kCall) fields["content_index"] = 0;
  return fields;
}

std::string ResponsesFormat::enter(Item item, const Answer& answer, std::size_t call) {
  std::string events = leave(answer);
  open_ = item;
  call_ = call;
  text_.clear();
  const ItemIds ids(answer.facts().id);
  Json json;
  if (item == Item::kReasoning) json = reasoning_item(ids.reasoning(index_), {});
  if (item == Item::kMessage) json = message_item(ids.message(index_), {}, Json::array(), "in_progress");
  if (item == Item::kCall) {
    AnswerCall begun = answer.choice(0).calls.at(call);
    begun.arguments.clear();
    json = call_item(begun, "in_progress");
  }
  if (item != Item::kCall) json["content"] = Json::array();
  events += event("response.output_item.added", {{"output_index", index_}, {"item", json}});
  if (item == Item::kMessage)
    events += event("response.content_part.added",
                    in_part({{"item_id", ids.message(index_)}, {"part", text_part({}, Json::array())}}));
  return events;
}

std::string ResponsesFormat::leave(const Answer& answer) {
  if (open_ == Item::kNone) return {};
  const ItemIds ids(answer.facts().id);
  std::string events;
  Json item;
  if (open_ == Item::kReasoning) {
    item = reasoning_item(ids.reasoning(index_), text_);
    events =
        event("response.reasoning_text.done", in_part({{"item_id", ids.reasoning(index_)}, {"text", text_}}));
  } else if (open_ == Item::kMessage) {
    const Json logprobs = std::exchange(event_logprobs_, Json::array());
    const Json part = text_part(text_, logprobs);
    item = message_item(ids.message(index_), text_, logprobs, message_status(answer));
    events = event("response.output_text.done",
                   in_part({{"item_id", ids.message(index_)}, {"text", text_}, {"logprobs", logprobs}}));
    events +=
        event("response.content_part.done", in_part({{"item_id", ids.message(index_)}, {"part", part}}));
  } else {
    AnswerCall call = answer.choice(0).calls.at(call_);
    call.arguments = text_;
    item = call_item(call, status_of(call));
    events = event("response.function_call_arguments.done",
                   in_part({{"item_id", item["id"]}, {"name", call.name}, {"arguments", text_}}));
  }
  events += event("response.output_item.done", {{"output_index", index_}, {"item", item}});
  ++index_;
  open_ = Item::kNone;
  return events;
}

std::string ResponsesFormat::show_part(const text::OutputEvent& part, const Answer& answer) {
  using Kind = text::OutputEvent::Kind;
  const ItemIds ids(answer.facts().id);
  std::string events;
  switch (part.kind) {
    case Kind::kReasoning:
      if (answer.facts().exclude_reasoning) return {};
      if (open_ != Item::kReasoning) events = enter(Item::kReasoning, answer, 0);
      text_ += part.text;
      return events + event("response.reasoning_text.delta",
                            in_part({{"item_id", ids.reasoning(index_)}, {"delta", part.text}}));
    case Kind::kContent:
      if (open_ != Item::kMessage) events = enter(Item::kMessage, answer, 0);
      text_ += part.text;
      return events + event("response.output_text.delta", in_part({{"item_id", ids.message(index_)},
                                                                   {"delta", part.text},
                                                                   {"logprobs", Json::array()}}));
    case Kind::kToolStart:
      return enter(Item::kCall, answer, part.call);
    case Kind::kToolArguments:
      text_ += part.text;
      return event("response.function_call_arguments.delta",
                   in_part({{"item_id", call_item(answer.choice(0).calls.at(part.call), "")["id"]},
                            {"delta", part.text}}));
    case Kind::kToolEnd:
    case Kind::kToolBroken:
      return leave(answer);
  }
  return {};
}

std::string ResponsesFormat::piece(const engine::Event& happened, const Answer& answer) {
  const std::vector<text::OutputEvent>* parts = nullptr;
  std::string events;
  if (const auto* token = std::get_if<engine::TokenEvent>(&happened)) {
    parts = &token->text;
    if (options_.logprobs && answer.lists(*token))
      event_logprobs_.push_back(logprob_entry_json(*token->logprob, *tokenizer_));
  }
  const auto* end = std::get_if<engine::ChoiceEnd>(&happened);
  if (end != nullptr) parts = &end->text;
  if (parts == nullptr) return {};
  for (const text::OutputEvent& part : *parts) events += show_part(part, answer);
  if (end != nullptr && end->stop_string && answer.facts().include_stop)
    events += show_part({.kind = text::OutputEvent::Kind::kContent, .text = *end->stop_string}, answer);
  return events;
}

std::string ResponsesFormat::closing(const Answer& answer) {
  std::string events = leave(answer);
  if (index_ == 0) {
    events += enter(Item::kMessage, answer, 0);
    events += leave(answer);
  }
  return events +
         event(is_cut(answer) ? "response.incomplete" : "response.completed", {{"response", whole(answer)}});
}

std::string ResponsesFormat::failure(const Problem& problem, std::string_view /*request_id*/) {
  last_["status"] = "failed";
  last_["error"] = {{"code", problem.code}, {"message", problem.message}};
  return event("response.failed", {{"response", last_}});
}

}  // namespace

Json answer_message(const Answer& answer) {
  const AnswerChoice& choice = answer.choice(0);
  Json message{{"role", "assistant"}, {"content", choice.content}};
  if (!choice.reasoning.empty()) message["reasoning_content"] = choice.reasoning;
  for (const AnswerCall& call : choice.calls)
    if (call.complete)
      message["tool_calls"].push_back({{"id", call.id},
                                       {"type", "function"},
                                       {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  return message;
}

std::unique_ptr<AnswerFormat> make_responses_format(const text::Tokenizer& tokenizer,
                                                    ResponsesFormatOptions options) {
  return std::make_unique<ResponsesFormat>(tokenizer, std::move(options));
}

}  // namespace lanner::server
