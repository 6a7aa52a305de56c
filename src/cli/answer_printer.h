// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "cli/console.h"
#include "text/output_parser_events.h"

namespace lanner::cli {

/// Whether reasoning is shown: kAuto shows it on a terminal and leaves it out of a pipe.
enum class ThinkingDisplay : std::uint8_t { kAuto, kShow, kHide };

bool shows_reasoning(ThinkingDisplay display, const Terminal& terminal);

/// Writes an answer to standard output as it comes: content as it is, reasoning dimmed or between marks, each
/// tool call on a line of its own.
class AnswerPrinter {
 public:
  AnswerPrinter(Console& console, ThinkingDisplay display);

  /// Throws Error kIo when the output is closed or full.
  void print(const text::OutputEvent& event);
  /// Ends the answer with one line end.
  void finish();

 private:
  enum class Part : std::uint8_t { kNone, kReasoning, kContent, kToolCall };

  void enter(Part part);
  void leave_reasoning();
  void write(std::string_view text);
  void end_line();

  Console& console_;
  bool shows_reasoning_;
  Part part_ = Part::kNone;
  bool at_line_start_ = true;
};

}  // namespace lanner::cli
