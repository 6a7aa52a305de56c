// SPDX-License-Identifier: MIT
#include "engine/stop_strings.h"

#include <doctest/doctest.h>

#include "core/error.h"

namespace lanner::engine {
namespace {

struct Cut {
  std::string text;
  std::string stop;
  bool operator==(const Cut&) const = default;
};

/// Feeds `text` in pieces of `size` bytes.
Cut cut(const std::vector<std::string>& stops, const std::string& text, std::size_t size) {
  StopStrings strings(stops);
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += size) out += strings.push(text.substr(i, size));
  out += strings.finish();
  return {out, strings.matched().value_or("")};
}

void check(const std::vector<std::string>& stops, const std::string& text, const Cut& want) {
  for (std::size_t size = 1; size <= text.size(); ++size) {
    CAPTURE(size);
    CHECK(cut(stops, text, size) == want);
  }
}

}  // namespace

TEST_CASE("a stop string ends the text before itself however the text is cut") {
  check({"STOP"}, "xSTOPy", {"x", "STOP"});
  check({"DEFGHIJ"}, "abcDEFGHIJk", {"abc", "DEFGHIJ"});
  check({"aab"}, "xaaab", {"xa", "aab"});
}

TEST_CASE("text that only begins like a stop string is given out at the end") {
  check({"STOP"}, "xSTO", {"xSTO", ""});
  check({"STOP"}, "xSTOxSTO", {"xSTOxSTO", ""});
  check({}, "anything", {"anything", ""});
}

TEST_CASE("the earliest end wins, then the longest match") {
  check({"ab", "abc"}, "xabcd", {"x", "ab"});
  check({"bc", "abc"}, "xabcd", {"x", "abc"});
}

TEST_CASE("an empty stop string is refused") { CHECK_THROWS_AS(StopStrings({"a", ""}), Error); }

}  // namespace lanner::engine
