// SPDX-License-Identifier: MIT
#include "engine/answer_text.h"

namespace lanner::engine {

AnswerText::AnswerText(const text::Tokenizer& tokenizer, const Request& request)
    : parser_(tokenizer, request.form, request.prompt, request.tools), stop_(request.stop) {}

std::vector<text::OutputEvent> AnswerText::push(TokenId token) {
  const bool reasoning = parser_.in_reasoning();
  const bool in_call = parser_.in_tool_call();
  std::vector<text::OutputEvent> events = filter(parser_.push(token));
  part_ = AnswerPart::kContent;
  if (reasoning || parser_.in_reasoning() || parser_.ends_reasoning())
    part_ = AnswerPart::kReasoning;
  else if (in_call || parser_.in_tool_call())
    part_ = AnswerPart::kToolCall;
  return events;
}

std::vector<text::OutputEvent> AnswerText::finish() {
  if (stop_.matched()) return {};
  std::vector<text::OutputEvent> events = filter(parser_.finish());
  if (std::string rest = stop_.finish(); !rest.empty())
    events.push_back({text::OutputEvent::Kind::kContent, std::move(rest)});
  return events;
}

std::vector<text::OutputEvent> AnswerText::filter(std::vector<text::OutputEvent> events) {
  std::vector<text::OutputEvent> kept;
  for (text::OutputEvent& event : events) {
    if (stop_.matched()) break;
    if (event.kind == text::OutputEvent::Kind::kContent) {
      event.text = stop_.push(event.text);
      if (event.text.empty()) continue;
    } else if (std::string held = stop_.finish(); !held.empty()) {
      // A stop string does not reach over other parts of the answer.
      kept.push_back({text::OutputEvent::Kind::kContent, std::move(held)});
    }
    kept.push_back(std::move(event));
  }
  return kept;
}

}  // namespace lanner::engine
