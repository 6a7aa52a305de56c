// SPDX-License-Identifier: MIT
#include "cli/answer_statistics.h"

#include <fmt/format.h>

namespace lanner::cli {

std::string statistics_line(const AnswerStatistics& statistics) {
  const engine::Timings& timings = statistics.timings;
  std::string line = fmt::format("prompt {} tokens", statistics.prompt_tokens);
  if (timings.cached_tokens > 0) line += fmt::format(" ({} of them known)", timings.cached_tokens);
  line += fmt::format(", {:.0f} tok/s; answer {} tokens", timings.prompt_rate(), timings.generated_tokens);
  // The first token comes with the prompt, so one alone has no rate.
  if (timings.decode_rate() > 0) line += fmt::format(", {:.1f} tok/s", timings.decode_rate());
  if (statistics.usage.drafted_tokens > 0)
    line += fmt::format(", {} of {} guesses right", statistics.usage.accepted_tokens,
                        statistics.usage.drafted_tokens);
  return line + fmt::format("; first token {:.0f} ms", 1000 * statistics.first_token_seconds);
}

const char* finish_name(engine::FinishReason reason) {
  switch (reason) {
    case engine::FinishReason::kStop:
      return "stop";
    case engine::FinishReason::kLength:
      return "length";
    case engine::FinishReason::kCancelled:
      return "cancelled";
  }
  return "?";
}

}  // namespace lanner::cli
