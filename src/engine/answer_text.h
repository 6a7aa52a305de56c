// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/token.h"
#include "engine/answer_parser.h"
#include "engine/event.h"
#include "engine/request.h"
#include "engine/stop_strings.h"

namespace lanner::engine {

/// Turns the tokens of one choice into the text that is certain: reasoning, content up to a stop string, tool
/// calls.
class AnswerText {
 public:
  /// Throws Error kInvalidArgument for an empty stop string.
  AnswerText(const text::Tokenizer& tokenizer, const Request& request);

  /// What one more token makes certain, often nothing.
  std::vector<text::OutputEvent> push(TokenId token);
  /// Ends the answer: what was held back. After a stop string nothing is.
  std::vector<text::OutputEvent> finish();
  /// The stop string that was met.
  const std::optional<std::string>& stopped_at() const { return stop_.matched(); }
  /// Where the last pushed token belongs.
  AnswerPart part() const { return part_; }
  /// The next token would be part of the reasoning.
  bool in_reasoning() const { return parser_.in_reasoning(); }

 private:
  /// Applies the stop strings to content.
  std::vector<text::OutputEvent> filter(std::vector<text::OutputEvent> events);

  AnswerParser parser_;
  StopStrings stop_;
  AnswerPart part_ = AnswerPart::kContent;
};

}  // namespace lanner::engine
