// SPDX-License-Identifier: MIT
#include "engine/reasoning_close.h"

#include "text/output_parser.h"

namespace lanner::engine {

ReasoningClose reasoning_close(const text::Tokenizer& tokenizer) {
  const auto format =
      text::detect_output_format([&](std::string_view text) { return tokenizer.token_id(text); });
  if (!format) return {};
  if (*format == text::OutputFormat::kGemma4) return {.whole = tokenizer.encode("<channel|>"), .rest = {}};
  return {.whole = tokenizer.encode("\n</think>\n\n"), .rest = tokenizer.encode("\n\n")};
}

}  // namespace lanner::engine
