// SPDX-License-Identifier: MIT
#include "cli/answer_printer.h"

namespace lanner::cli {
namespace {

constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kPlain = "\x1b[0m";
constexpr std::string_view kThinkingBegins = "[thinking]\n";
constexpr std::string_view kThinkingEnds = "[end of thinking]\n";

}  // namespace

bool shows_reasoning(ThinkingDisplay display, const Terminal& terminal) {
  return display == ThinkingDisplay::kShow || (display == ThinkingDisplay::kAuto && terminal.out);
}

AnswerPrinter::AnswerPrinter(Console& console, ThinkingDisplay display)
    : console_(console), shows_reasoning_(cli::shows_reasoning(display, console.terminal)) {}

void AnswerPrinter::print(const text::OutputEvent& event) {
  using Kind = text::OutputEvent::Kind;
  switch (event.kind) {
    case Kind::kReasoning:
      if (!shows_reasoning_ || event.text.empty()) return;
      enter(Part::kReasoning);
      write(event.text);
      break;
    case Kind::kContent:
      if (event.text.empty()) return;
      enter(Part::kContent);
      write(event.text);
      break;
    case Kind::kToolStart:
      part_ == Part::kReasoning ? leave_reasoning() : end_line();
      part_ = Part::kToolCall;
      write("[tool call] ");
      write(event.text);
      write(" ");
      break;
    case Kind::kToolArguments:
      write(event.text);
      break;
    case Kind::kToolEnd:
      end_line();
      break;
    case Kind::kToolBroken:
      if (part_ == Part::kToolCall) {
        end_line();
      } else {
        enter(Part::kContent);
        write(event.text);
      }
      break;
  }
  flush_output(console_);
}

void AnswerPrinter::finish() {
  if (part_ == Part::kReasoning) leave_reasoning();
  end_line();
  part_ = Part::kNone;
  flush_output(console_);
}

void AnswerPrinter::enter(Part part) {
  if (part_ == part) return;
  if (part_ == Part::kReasoning) leave_reasoning();
  if (part_ == Part::kToolCall) end_line();
  part_ = part;
  if (part == Part::kReasoning) {
    end_line();
    console_.out << (console_.terminal.dims_output() ? kDim : kThinkingBegins);
  }
}

void AnswerPrinter::leave_reasoning() {
  if (console_.terminal.dims_output()) {
    console_.out << kPlain;
    end_line();
    write("\n");
  } else {
    end_line();
    write(kThinkingEnds);
  }
}

void AnswerPrinter::write(std::string_view text) {
  if (text.empty()) return;
  console_.out << text;
  at_line_start_ = text.back() == '\n';
}

void AnswerPrinter::end_line() {
  if (!at_line_start_) write("\n");
}

}  // namespace lanner::cli
