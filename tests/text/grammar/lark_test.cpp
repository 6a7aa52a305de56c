// SPDX-License-Identifier: MIT
#include "text/grammar/lark.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "text/grammar/grammar_vocabularies.h"

using namespace lanner;
using namespace lanner::text::grammar;
using namespace lanner::text::grammar::test;

namespace {

std::shared_ptr<const Grammar> lark(std::string_view text) {
  const Vocabulary vocabulary = byte_vocabulary();
  return make_grammar(parse_lark(text, *vocabulary), vocabulary);
}

std::string error_of(std::string_view grammar) {
  try {
    lark(grammar);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("lark: rules, terminals, operators, imports and ignored text") {
  struct Case {
    const char* grammar;
    std::vector<std::string> yes, no;
  };
  const std::vector<Case> cases = {
      {"start: sum\n?sum: product | sum \"+\" product -> add\n    | sum \"-\" product -> sub\n"
       "?product: atom | product \"*\" atom\n?atom: NUMBER | \"(\" sum \")\"\n%import common.NUMBER\n"
       "%import common.WS_INLINE\n%ignore WS_INLINE\n",
       {"1", "1+2*3", "( 1 + 2.5 ) * 3e2 ", " 1"},
       {"", "1+", "(1", "1 2+"}},
      {"// words\nstart: WORD (\",\" WORD)*\nWORD: /[a-z]+/ | \"X\"i\n", {"abc", "a,b,X,x"}, {"a,", "A"}},
      {"start: \"a\"~2..3 [\"b\"] \"c\"~2 \"d\"?", {"aacc", "aaabccd"}, {"acc", "aabbcc"}},
      {"start: (\"a\"\n  | \"b\")+ # end\n", {"ab", "b"}, {"", "c"}},
      {"start: A B\nA.2: \"0\"..\"9\"\nB: /\\/[^\\/\\n]*\\//", {"7/x/"}, {"7x", "a/x/"}},
      {"%import common (INT, WS)\n%import common.CNAME -> NAME\n%ignore WS\n%ignore /;[^\\n]*/\n"
       "start: (NAME \"=\" INT)*\n",
       {"", "a=1", "a = 1 ; note\n b=2"},
       {"a=", "1=a"}},
      {"!start: \"say \" ESCAPED_STRING\n%import common.ESCAPED_STRING", {"say \"a\\\"b\""}, {"say \"a"}},
  };
  for (const Case& it : cases) {
    CAPTURE(it.grammar);
    const auto grammar = lark(it.grammar);
    for (const std::string& text : it.yes) CHECK_MESSAGE(grammar->accepts(text), text);
    for (const std::string& text : it.no) CHECK_MESSAGE(!grammar->accepts(text), text);
  }
}

TEST_CASE("lark: marker tokens are named") {
  const auto grammar = lark("start: <a> \"x\"");
  Matcher matcher(grammar);
  CHECK_FALSE(matcher.allows('<'));
  REQUIRE(matcher.accept(*grammar->vocabulary().marker("<a>")));
  CHECK(matcher.forced_text() == "x");
}

TEST_CASE("lark: errors name line and column") {
  CHECK(error_of("start: a\n") == "grammar: line 1, column 8 (byte 8): \"a\" is not defined");
  CHECK(error_of("start: \"x\" <end>\n").find("ends an answer") != std::string::npos);
  CHECK(error_of("a: \"x\"\n").find("\"start\" is not defined") != std::string::npos);
  CHECK(error_of("start: \"x").find("no closing \"") != std::string::npos);
  CHECK(error_of("start: /x").find("no closing /") != std::string::npos);
  CHECK(error_of("start: (\"x\"").find("not closed") != std::string::npos);
  CHECK(error_of("start: T\nT: r\nr: \"x\"").find("a terminal cannot use the rule") != std::string::npos);
  CHECK(error_of("start: \"x\"~3..2").find("upper count") != std::string::npos);
  CHECK(error_of("start: a{\"x\"}").find("templates") != std::string::npos);
  CHECK(error_of("%declare X\nstart: X").find("directive") != std::string::npos);
  CHECK(error_of("%import common.NOPE\nstart: NOPE").find("no common terminal") != std::string::npos);
  CHECK(error_of("start: \"x\"\nstart: \"y\"").find("defined twice") != std::string::npos);
  CHECK(error_of("start: /a(?=b)/").find("looking around") != std::string::npos);
  CHECK(error_of("start: /a/i").find("flags") != std::string::npos);
  CHECK(error_of("start: " + std::string(60'000, '(')).find("too deeply") != std::string::npos);
  CHECK(error_of("start: start").find("no text satisfies") != std::string::npos);
}
