// SPDX-License-Identifier: MIT
#include "text/grammar/gbnf.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "text/grammar/grammar_vocabularies.h"

using namespace lanner;
using namespace lanner::text::grammar;
using namespace lanner::text::grammar::test;

namespace {

std::string error_of(std::string_view grammar) {
  try {
    gbnf(grammar);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("gbnf: literals, classes, groups, quantifiers and comments mean what they mean in llama.cpp") {
  struct Case {
    const char* grammar;
    std::vector<std::string> yes, no;
  };
  const std::vector<Case> cases = {
      {"root ::= \"a\\n\\\"\\x41\\u00e9\\U0001F600\"", {"a\n\"A\u00e9\U0001F600"}, {"a", ""}},
      {"root ::= [a-c^-]+ # comment\n", {"a", "cab^-"}, {"d", "", "ad"}},
      {"root ::= [^a\\n]", {"b", "\u00e9", "\U0001F600", "]"}, {"a", "\n", "\xC3", "\xED\xA0\x80"}},
      {"root ::= [\u00e0-\u4e00]{2}", {"\u00e9\u3042"}, {"\u00e9", "a\u00e9", "\u00e9\u00e9\u00e9"}},
      {"root ::= . .?", {"a", "\u00e9\U0001F600", "\n"}, {"", "abc"}},
      {"root ::= (\"a\" |\n  \"b\")* \"c\"? \"d\"+", {"d", "abacd", "ddd"}, {"c", "ca", ""}},
      {"root ::= x{2,3} y{0,2} z{2,}\nx::=\"x\"\ny ::= \"y\" \r\nz ::= \"z\"",
       {"xxzz", "xxxyyzzzz"},
       {"xzz", "xxz", "xxxxzz", "xxyyyzz"}},
      {"# first\nroot ::= sum\nsum ::= sum \"+\" num | num\nnum ::= [0-9]+",
       {"1", "1+22+3"},
       {"+1", "1+", ""}},
      {"root ::= | \"a\"", {"", "a"}, {"aa"}},
      {"root ::= []x-] [ ]", {}, {"x "}},
  };
  for (const Case& it : cases) {
    CAPTURE(it.grammar);
    if (it.yes.empty()) {
      CHECK_THROWS_AS(gbnf(it.grammar), Error);
      continue;
    }
    const auto grammar = gbnf(it.grammar);
    for (const std::string& text : it.yes) CHECK_MESSAGE(grammar->accepts(text), text);
    for (const std::string& text : it.no) CHECK_MESSAGE(!grammar->accepts(text), text);
  }
}

TEST_CASE("gbnf: marker tokens are named, and text that spells one is text") {
  const auto grammar = gbnf("root ::= <a> \"x\" <b>? | \"<a>\"");
  const TokenId a = *grammar->vocabulary().marker("<a>"), b = *grammar->vocabulary().marker("<b>");
  Matcher matcher(grammar);
  CHECK(allowed_tokens(matcher) == std::vector<TokenId>{'<', a});
  REQUIRE(matcher.accept(a));
  CHECK(matcher.forced_text() == "x");
  REQUIRE(matcher.accept('x'));
  CHECK(allowed_tokens(matcher) == std::vector<TokenId>{b, grammar->vocabulary().stop_ids()[0]});
  REQUIRE(matcher.accept(b));
  Matcher text(grammar);
  CHECK(accept_bytes(text, "<a>"));
  CHECK(text.can_end());
  const std::string by_id = "root ::= <[" + std::to_string(a) + "]>";
  CHECK(Matcher(gbnf(by_id)).allows(a));
}

TEST_CASE("gbnf: errors name line and column") {
  CHECK(error_of("root ::= \"a\n") == "grammar: line 1, column 10 (byte 10): the literal has no closing \"");
  CHECK(error_of("root ::= a\n") == "grammar: line 1, column 10 (byte 10): \"a\" is not defined");
  CHECK(error_of("a ::= \"x\"\n") == "grammar: line 2, column 1 (byte 11): \"root\" is not defined");
  CHECK(error_of("root ::= \"x\"\nroot ::= \"y\"").find("defined twice") != std::string::npos);
  CHECK(error_of("root = \"x\"").find("expected \"::=\"") != std::string::npos);
  CHECK(error_of("root ::= (\"x\"").find("expected \")\"") != std::string::npos);
  CHECK(error_of("root ::= [a").find("no closing ]") != std::string::npos);
  CHECK(error_of("root ::= [z-a]").find("wrong order") != std::string::npos);
  CHECK(error_of("root ::= \"x\"{3,2}").find("upper count") != std::string::npos);
  CHECK(error_of("root ::= \"x\"{18446744073709551615}").find("number above") != std::string::npos);
  CHECK(error_of("root ::= <nope>").find("no marker token \"<nope>\"") != std::string::npos);
  for (const char* stops : {"root ::= <end> \"x\"", "root ::= \"x\" <[258]>"})
    CHECK(error_of(stops).find("ends an answer") != std::string::npos);
  CHECK(error_of("root ::= \"\\q\"").find("unknown escape") != std::string::npos);
  CHECK(error_of("root ::= \"\xFF\"").find("not UTF-8") != std::string::npos);
  CHECK(error_of("root ::= " + std::string(60'000, '(')).find("too deeply") != std::string::npos);
  CHECK(error_of("root ::= \"x\"" + std::string(60'000, '?')).find("too many quantifiers") !=
        std::string::npos);
}
