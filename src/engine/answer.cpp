// SPDX-License-Identifier: MIT
#include "engine/answer.h"

namespace lanner::engine {

Answer::Answer(const LoadedModel& model, device::Stream& stream, AnswerRequest request)
    : prompt_tokens_(request.generation.prompt.size()),
      parser_(model, request.form, request.generation.prompt, request.tools),
      stop_(std::move(request.stop)),
      generation_(model, stream, std::move(request.generation)) {}

std::optional<std::vector<text::OutputEvent>> Answer::next() {
  if (finished_) return std::nullopt;
  if (const auto token = generation_.next()) {
    std::vector<text::OutputEvent> events = filter(parser_.push(*token));
    if (stop_.matched()) {
      finished_ = true;
      finish_reason_ = FinishReason::kStop;
      if (events.empty()) return std::nullopt;
    }
    return events;
  }
  finished_ = true;
  finish_reason_ = generation_.finish_reason();
  std::vector<text::OutputEvent> events = filter(parser_.finish());
  if (std::string rest = stop_.finish(); !rest.empty())
    events.push_back({text::OutputEvent::Kind::kContent, std::move(rest)});
  if (events.empty()) return std::nullopt;
  return events;
}

std::vector<text::OutputEvent> Answer::filter(std::vector<text::OutputEvent> events) {
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
