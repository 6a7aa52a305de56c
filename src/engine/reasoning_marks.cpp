// SPDX-License-Identifier: MIT
#include "engine/reasoning_marks.h"

#include "text/output_parser.h"

namespace lanner::engine {

ReasoningMarks::ReasoningMarks(const text::Tokenizer& tokenizer) {
  const auto format =
      text::detect_output_format([&](std::string_view text) { return tokenizer.token_id(text); });
  if (format == text::OutputFormat::kGemma4) {
    close = tokenizer.encode("<channel|>");
    call = tokenizer.token_id("<|tool_call>");
  } else if (format == text::OutputFormat::kQwen35) {
    close = tokenizer.encode("\n</think>\n\n");
    behind = tokenizer.encode("\n\n");
    call = tokenizer.token_id("<tool_call>");
  }
}

}  // namespace lanner::engine
