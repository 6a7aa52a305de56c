// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "cli/answer_printer.h"
#include "cli/answer_statistics.h"
#include "cli/console.h"
#include "engine/engine.h"
#include "text/output_parser_events.h"

namespace lanner::cli {

/// What an answer came to.
struct ReadAnswer {
  text::ParsedOutput output;
  std::vector<TokenId> tokens;
  engine::FinishReason finish_reason = engine::FinishReason::kStop;
  AnswerStatistics statistics;
};

/// Has the engine answer a request of one choice, with a progress bar while the prompt is computed. Each
/// piece of text goes to the printer, unless it is null. Ctrl-C ends the answer early. Throws Error when the
/// request is refused or fails.
ReadAnswer read_answer(engine::Engine& engine, engine::Request request, AnswerPrinter* printer,
                       Console& console);

}  // namespace lanner::cli
