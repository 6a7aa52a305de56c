// SPDX-License-Identifier: MIT
#include "server/messages_format.h"

#include <fmt/format.h>

#include "server/error_response.h"

namespace lanner::server {
namespace {

/// Clients hand it back with the thoughts; nothing here needs it.
constexpr const char* kSignature = "lanner";

std::string use_id(const AnswerCall& call) { return "toolu_" + call.id.substr(call.id.find('_') + 1); }

const char* stop_reason(const Answer& answer) {
  const AnswerChoice& choice = answer.choice(0);
  if (choice.end->stop_string) return "stop_sequence";
  const std::string_view reason = choice.finish_reason();
  return reason == "length" ? "max_tokens" : reason == "tool_calls" ? "tool_use" : "end_turn";
}

Json stop_sequence(const Answer& answer) {
  const auto text = answer.stop_text(0);
  return text ? Json(*text) : Json(nullptr);
}

Json anthropic_usage(const Answer& answer, std::size_t output_tokens) {
  const std::size_t cached = answer.cached_tokens();
  return {{"input_tokens", answer.prompt_tokens() - cached},
          {"cache_creation_input_tokens", 0},
          {"cache_read_input_tokens", cached},
          {"output_tokens", output_tokens}};
}

Json whole_block(const AnswerChoice& choice, const AnswerBlock& block) {
  if (block.kind == AnswerBlock::Kind::kReasoning)
    return {{"type", "thinking"}, {"thinking", block.text}, {"signature", kSignature}};
  if (block.kind == AnswerBlock::Kind::kContent) return {{"type", "text"}, {"text", block.text}};
  const AnswerCall& call = choice.calls.at(block.call);
  Json input = Json::parse(call.arguments, nullptr, /*allow_exceptions=*/false);
  if (input.is_discarded()) input = Json::object();
  return {{"type", "tool_use"}, {"id", use_id(call)}, {"name", call.name}, {"input", std::move(input)}};
}

class MessagesFormat final : public AnswerFormat {
 public:
  Json whole(const Answer& answer) override;
  std::string opening(const Answer& answer) override;
  std::string piece(const engine::Event& event, const Answer& answer) override;
  std::string closing(const Answer& answer) override;
  std::string failure(const Problem& problem, std::string_view request_id) override {
    return named_event("error", error_body(problem, ErrorStyle::kAnthropic, request_id));
  }
  std::string keep_alive(std::string_view note) override {
    return ": " + std::string(note) + "\n" + named_event("ping", {{"type", "ping"}});
  }

 private:
  enum class Block : std::uint8_t { kNone, kThinking, kText, kTool };

  std::string show(const std::vector<text::OutputEvent>& parts, const Answer& answer);
  std::string show_part(const text::OutputEvent& part, const Answer& answer);
  std::string enter(Block block, Json content);
  std::string leave();
  std::string delta(Json content) const;

  Block open_ = Block::kNone;
  int index_ = -1;
  bool tool_empty_ = false;  ///< the open call has no piece of its input yet
};

Json MessagesFormat::whole(const Answer& answer) {
  const AnswerChoice& choice = answer.choice(0);
  Json content = Json::array();
  for (const AnswerBlock& block : choice.blocks) content.push_back(whole_block(choice, block));
  return {{"id", answer.facts().id},
          {"type", "message"},
          {"role", "assistant"},
          {"model", answer.facts().model},
          {"content", std::move(content)},
          {"stop_reason", stop_reason(answer)},
          {"stop_sequence", stop_sequence(answer)},
          {"usage", anthropic_usage(answer, answer.usage().generated_tokens)}};
}

std::string MessagesFormat::opening(const Answer& answer) {
  return named_event("message_start", {{"type", "message_start"},
                                       {"message",
                                        {{"id", answer.facts().id},
                                         {"type", "message"},
                                         {"role", "assistant"},
                                         {"content", Json::array()},
                                         {"model", answer.facts().model},
                                         {"stop_reason", nullptr},
                                         {"stop_sequence", nullptr},
                                         {"usage", anthropic_usage(answer, 0)}}}}) +
         named_event("ping", {{"type", "ping"}});
}

std::string MessagesFormat::delta(Json content) const {
  return named_event("content_block_delta",
                     {{"type", "content_block_delta"}, {"index", index_}, {"delta", std::move(content)}});
}

std::string MessagesFormat::leave() {
  if (open_ == Block::kNone) return {};
  std::string events;
  if (open_ == Block::kThinking) events = delta({{"type", "signature_delta"}, {"signature", kSignature}});
  if (open_ == Block::kTool && tool_empty_)
    events = delta({{"type", "input_json_delta"}, {"partial_json", "{}"}});
  open_ = Block::kNone;
  return events + named_event("content_block_stop", {{"type", "content_block_stop"}, {"index", index_}});
}

std::string MessagesFormat::enter(Block block, Json content) {
  std::string events = leave();
  open_ = block;
  tool_empty_ = true;
  ++index_;
  return events + named_event("content_block_start", {{"type", "content_block_start"},
                                                      {"index", index_},
                                                      {"content_block", std::move(content)}});
}

std::string MessagesFormat::show_part(const text::OutputEvent& part, const Answer& answer) {
  using Kind = text::OutputEvent::Kind;
  std::string events;
  switch (part.kind) {
    case Kind::kReasoning:
      if (answer.facts().exclude_reasoning) return {};
      if (open_ != Block::kThinking)
        events = enter(Block::kThinking, {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}});
      return events + delta({{"type", "thinking_delta"}, {"thinking", part.text}});
    case Kind::kContent:
      if (open_ != Block::kText) events = enter(Block::kText, {{"type", "text"}, {"text", ""}});
      return events + delta({{"type", "text_delta"}, {"text", part.text}});
    case Kind::kToolStart: {
      const AnswerCall& call = answer.choice(0).calls.at(part.call);
      return enter(
          Block::kTool,
          {{"type", "tool_use"}, {"id", use_id(call)}, {"name", call.name}, {"input", Json::object()}});
    }
    case Kind::kToolArguments:
      tool_empty_ = tool_empty_ && part.text.empty();
      return delta({{"type", "input_json_delta"}, {"partial_json", part.text}});
    case Kind::kToolEnd:
      return leave();
    case Kind::kToolBroken:
      tool_empty_ = false;
      return leave();
  }
  return {};
}

std::string MessagesFormat::show(const std::vector<text::OutputEvent>& parts, const Answer& answer) {
  std::string events;
  for (const text::OutputEvent& part : parts) events += show_part(part, answer);
  return events;
}

std::string MessagesFormat::piece(const engine::Event& event, const Answer& answer) {
  if (const auto* token = std::get_if<engine::TokenEvent>(&event)) return show(token->text, answer);
  if (const auto* end = std::get_if<engine::ChoiceEnd>(&event)) {
    tool_empty_ = tool_empty_ && end->reason != engine::FinishReason::kLength;
    std::string events = show(end->text, answer);
    if (answer.facts().include_stop && end->stop_string)
      events += show_part({.kind = text::OutputEvent::Kind::kContent, .text = *end->stop_string}, answer);
    return events;
  }
  return {};
}

std::string MessagesFormat::closing(const Answer& answer) {
  return leave() +
         named_event(
             "message_delta",
             {{"type", "message_delta"},
              {"delta", {{"stop_reason", stop_reason(answer)}, {"stop_sequence", stop_sequence(answer)}}},
              {"usage", anthropic_usage(answer, answer.usage().generated_tokens)}}) +
         named_event("message_stop", {{"type", "message_stop"}});
}

}  // namespace

std::unique_ptr<AnswerFormat> make_messages_format() { return std::make_unique<MessagesFormat>(); }

}  // namespace lanner::server
