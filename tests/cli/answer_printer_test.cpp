// SPDX-License-Identifier: MIT
#include "cli/answer_printer.h"

#include <doctest/doctest.h>

#include <sstream>

#include "core/error.h"

namespace lanner::cli {
namespace {

using Kind = text::OutputEvent::Kind;

std::string printed(const std::vector<text::OutputEvent>& pieces, ThinkingDisplay display,
                    const Terminal& terminal) {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream log;
  Console console{in, out, log, terminal};
  AnswerPrinter printer(console, display);
  for (const text::OutputEvent& piece : pieces) printer.print(piece);
  printer.finish();
  CHECK(log.str().empty());
  return out.str();
}

const std::vector<text::OutputEvent> kThought = {{Kind::kReasoning, "two and "},
                                                 {Kind::kReasoning, "two"},
                                                 {Kind::kContent, "Fo"},
                                                 {Kind::kContent, "ur."}};

}  // namespace

TEST_CASE("thoughts stay out of a pipe unless asked for") {
  CHECK(printed(kThought, ThinkingDisplay::kAuto, {}) == "Four.\n");
  CHECK(printed(kThought, ThinkingDisplay::kHide, {}) == "Four.\n");
  CHECK(printed(kThought, ThinkingDisplay::kShow, {}) ==
        "[thinking]\ntwo and two\n[end of thinking]\nFour.\n");
}

TEST_CASE("thoughts are dimmed on a terminal, and between marks where colour is unwelcome") {
  CHECK(printed(kThought, ThinkingDisplay::kAuto, {.out = true, .colour = true}) ==
        "\x1b[2mtwo and two\x1b[0m\n\nFour.\n");
  CHECK(printed(kThought, ThinkingDisplay::kAuto, {.out = true}) ==
        "[thinking]\ntwo and two\n[end of thinking]\nFour.\n");
  CHECK(printed(kThought, ThinkingDisplay::kHide, {.out = true, .colour = true}) == "Four.\n");
}

TEST_CASE("an answer that ends inside a thought leaves the terminal as it was") {
  CHECK(printed({{Kind::kReasoning, "hm"}}, ThinkingDisplay::kAuto, {.out = true, .colour = true}) ==
        "\x1b[2mhm\x1b[0m\n\n");
}

TEST_CASE("each tool call is a line of its own") {
  const std::vector<text::OutputEvent> pieces = {
      {Kind::kContent, "Let me see."}, {Kind::kToolStart, "add"}, {Kind::kToolArguments, "{\"a\":"},
      {Kind::kToolArguments, "2}"},    {Kind::kToolEnd, ""},      {Kind::kToolStart, "now"},
      {Kind::kToolArguments, "{}"},    {Kind::kToolEnd, ""},      {Kind::kContent, "Done."}};
  CHECK(printed(pieces, ThinkingDisplay::kAuto, {}) ==
        "Let me see.\n[tool call] add {\"a\":2}\n[tool call] now {}\nDone.\n");
}

TEST_CASE("an answer ends with exactly one line end it did not have itself") {
  CHECK(printed({{Kind::kContent, "x\n"}}, ThinkingDisplay::kAuto, {}) == "x\n");
  CHECK(printed({}, ThinkingDisplay::kAuto, {}).empty());
}

TEST_CASE("an output that refuses is an error") {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream log;
  out.setstate(std::ios::badbit);
  Console console{in, out, log, {}};
  AnswerPrinter printer(console, ThinkingDisplay::kAuto);
  CHECK_THROWS_AS(printer.print({Kind::kContent, "x"}), Error);
}

}  // namespace lanner::cli
