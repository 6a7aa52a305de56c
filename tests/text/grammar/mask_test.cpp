// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "text/grammar/grammar_vocabularies.h"
#include "text/grammar/matcher.h"

using namespace lanner;
using namespace lanner::text::grammar;
using namespace lanner::text::grammar::test;

namespace {

constexpr std::string_view kJson = R"(
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)*)? "}" ws
array  ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\"" ([^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt/] | "u" [0-9a-fA-F]{4}))* "\"" ws
number ::= "-"? ([0-9] | [1-9] [0-9]{0,15}) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
ws     ::= | " " | "\n" [ \t]{0,20}
)";
constexpr std::string_view kGrammars[] = {
    kJson,
    "root ::= [a-z]{3,40} (\" \" [A-Za-z]{1,9}){2,5} \".\"",
    "root ::= \"\\\"\" [^\"\\\\\\x00-\\x1F]{5,12} \"\\\"\"",
    "root ::= .{0,3} \"!\"+ .{2,} ",
    "root ::= word (\", \" word)*\nword ::= [a-zA-Z]+ | \"\\\"\" [^\"]* \"\\\"\"",
    "root ::= root [a-z ]+ \".\" | \"<\" root \">\" | \"\"",
    "root ::= [\u00e9-\u4e2d]+ | [^a-z]* \"z\"",
};

/// Every token, or every `stride`-th: the mask says what trying the token says.
void check_mask(const Matcher& matcher, std::size_t stride, std::size_t from) {
  const GrammarVocabulary& vocabulary = matcher.grammar().vocabulary();
  std::vector<std::uint64_t> mask(mask_words(vocabulary.size()) + 1, ~std::uint64_t{0});
  matcher.fill_mask(mask);
  std::size_t wrong = 0;
  for (std::size_t i = from % stride; i < vocabulary.size(); i += stride) {
    const auto id = static_cast<TokenId>(i);
    if (allows_token(mask, id) == matcher.allows(id)) continue;
    if (++wrong == 1)
      MESSAGE("token " << id << " \"" << vocabulary.text(id) << "\" in mask: " << allows_token(mask, id));
  }
  CHECK(wrong == 0);
  CHECK(mask.back() == 0);
}

void check_masks(const Vocabulary& vocabulary, std::size_t walks, std::size_t stride, int steps = 12) {
  for (const std::string_view text : kGrammars) {
    CAPTURE(text);
    const auto grammar = gbnf(text, vocabulary);
    for (std::uint64_t seed = 0; seed < walks; ++seed) {
      CAPTURE(seed);
      Dice dice(seed);
      Matcher matcher(grammar);
      for (int step = 0; step < steps && !matcher.is_terminated(); ++step) {
        check_mask(matcher, stride, dice.roll(1000));
        const std::vector<TokenId> allowed = allowed_tokens(matcher);
        REQUIRE(!allowed.empty());
        REQUIRE(matcher.accept(allowed[dice.roll(static_cast<std::uint32_t>(allowed.size()))]));
      }
    }
  }
}

}  // namespace

TEST_CASE("mask: equals trying every token, on a small vocabulary with tokens across boundaries") {
  check_masks(byte_vocabulary({"\",\"",
                               "{\"",
                               "\":",
                               "\": \"",
                               "ab",
                               "abc",
                               "the quick brown fox jumps",
                               " ",
                               "  ",
                               "\n  ",
                               "\"}",
                               "]}",
                               "},{\"",
                               "true",
                               "alse",
                               "12",
                               "1e",
                               ".5",
                               "!!",
                               ". ",
                               "z\u00e9",
                               "\u4e2d\u6587",
                               "\xC3",
                               "\xA9\"",
                               "\\n",
                               "\\u00",
                               "<<",
                               "a>"}),
              12, 1);
}

TEST_CASE("mask: equals trying every token of the tale models' vocabularies") {
  for (const Vocabulary& vocabulary : tale_vocabularies()) check_masks(vocabulary, 1, 3);
}

TEST_CASE("mask: equals trying sampled tokens of the published vocabularies") {
  for (const Vocabulary& vocabulary : published_vocabularies()) check_masks(vocabulary, 1, 397, 4);
}

TEST_CASE("mask: text never matches a marker, and stop tokens come only where the grammar may end") {
  for (const Vocabulary& vocabulary : tale_vocabularies()) {
    Matcher matcher(gbnf("root ::= .*", vocabulary));
    std::vector<std::uint64_t> mask(mask_words(vocabulary->size()));
    matcher.fill_mask(mask);
    for (const GrammarVocabulary::Marker& marker : vocabulary->markers())
      CHECK(allows_token(mask, marker.id) == vocabulary->is_stop(marker.id));
  }
}
