// SPDX-License-Identifier: MIT
#include "cli/line_reader.h"

#include <doctest/doctest.h>

#include <sstream>
#include <vector>

namespace lanner::cli {
namespace {

std::vector<std::string> messages(const std::string& input) {
  std::istringstream in(input);
  StreamLineReader reader(in);
  std::vector<std::string> all;
  for (;;) {
    Line line = read_message(reader, "> ");
    if (line.status != LineStatus::kLine) return all;
    all.push_back(std::move(line.text));
  }
}

}  // namespace

TEST_CASE("a message is one line") {
  CHECK(messages("one\ntwo\r\nthree") == std::vector<std::string>{"one", "two", "three"});
  CHECK(messages("").empty());
  CHECK(messages("\n") == std::vector<std::string>{""});
}

TEST_CASE("a backslash at the end of a line goes on") {
  CHECK(messages("one\\\ntwo\nthree") == std::vector<std::string>{"one\ntwo", "three"});
  CHECK(messages("one\\") == std::vector<std::string>{"one\n"});
}

TEST_CASE("a block holds lines as they are") {
  CHECK(messages("\"\"\"\none\\\n\n two\n\"\"\"\nthree") ==
        std::vector<std::string>{"one\\\n\n two", "three"});
  CHECK(messages("\"\"\"one\ntwo\"\"\"\n") == std::vector<std::string>{"one\ntwo"});
  CHECK(messages("\"\"\"one\"\"\"\n") == std::vector<std::string>{"one"});
  CHECK(messages("\"\"\"never closed\nend") == std::vector<std::string>{"never closed\nend"});
}

TEST_CASE("broken bytes of a message become U+FFFD; a long line is one message") {
  CHECK(messages("a\xff"
                 "b\n") == std::vector<std::string>{"a\xEF\xBF\xBD"
                                                    "b"});
  CHECK(messages(std::string(300'000, 'x') + "\n").front().size() == 300'000);
}

}  // namespace lanner::cli
