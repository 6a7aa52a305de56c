// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/answer_parser.h"
#include "engine/generation.h"
#include "engine/stop_strings.h"

namespace lanner::engine {

/// What to answer.
struct AnswerRequest {
  GenerationRequest generation;
  std::vector<std::string> stop = {};  ///< end the answer's content before any of these
  AnswerForm form = AnswerForm::kChat;
  nlohmann::ordered_json tools = nullptr;  ///< array of declared tools, or null
};

/// Generates tokens and tells what they mean: reasoning, content, tool calls. Model and stream must outlive
/// it.
class Answer {
 public:
  /// Throws Error kInvalidArgument as Generation does, and for an empty stop string.
  Answer(const LoadedModel& model, device::Stream& stream, AnswerRequest request);

  /// The events that one more token makes certain, often none; std::nullopt at the end.
  std::optional<std::vector<text::OutputEvent>> next();
  /// Valid once next() has returned std::nullopt.
  FinishReason finish_reason() const { return finish_reason_; }
  /// Prompt tokens and the tokens generated so far.
  std::span<const TokenId> tokens() const { return generation_.tokens(); }
  std::size_t prompt_tokens() const { return prompt_tokens_; }
  const Timings& timings() const { return generation_.timings(); }

 private:
  /// Applies the stop strings to content.
  std::vector<text::OutputEvent> filter(std::vector<text::OutputEvent> events);

  std::size_t prompt_tokens_;
  AnswerParser parser_;
  StopStrings stop_;
  Generation generation_;
  FinishReason finish_reason_ = FinishReason::kCancelled;
  bool finished_ = false;
};

}  // namespace lanner::engine
