// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/batch_request.h"
#include "engine/event.h"
#include "text/tokenizer.h"

namespace lanner::cli {

/// Gathers the events of one line's request.
class BatchResult {
 public:
  void take(engine::Event event);
  bool failed() const { return !failure_.empty(); }
  const std::string& failure() const { return failure_; }
  /// The answer as the API gives it: "chat.completion" or "text_completion".
  nlohmann::ordered_json body(const BatchLine& line, BatchKind kind, const text::Tokenizer& tokenizer) const;

 private:
  struct Choice {
    std::vector<text::OutputEvent> text;
    std::vector<engine::LogprobEntry> logprobs;
    engine::ChoiceEnd end;
  };

  nlohmann::ordered_json chat_choice(const BatchLine& line, std::size_t index,
                                     const text::Tokenizer& tokenizer) const;
  Choice& choice(std::size_t index);

  std::vector<Choice> choices_;
  engine::Timings timings_;
  std::string failure_;
};

/// {"id", "custom_id", "response": {"status_code": 200, ...}, "error": null}, one line without its end.
std::string success_line(const BatchLine& line, const nlohmann::ordered_json& body);
/// The same with status_code 400 or 500 and an error.
std::string failure_line(const BatchLine& line, int status_code, const std::string& message);

}  // namespace lanner::cli
