// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <iterator>
#include <string>

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

/// On a random way through the grammar.
void check_walk(const std::shared_ptr<const Grammar>& grammar, Dice& dice, std::size_t stride, int steps) {
  Matcher matcher(grammar);
  for (int step = 0; step < steps && !matcher.is_terminated(); ++step) {
    check_mask(matcher, stride, dice.roll(1000));
    const std::vector<TokenId> allowed = allowed_tokens(matcher);
    REQUIRE(!allowed.empty());
    REQUIRE(matcher.accept(allowed[dice.roll(static_cast<std::uint32_t>(allowed.size()))]));
  }
}

void check_masks(const Vocabulary& vocabulary, std::size_t walks, std::size_t stride, int steps = 12) {
  for (const std::string_view text : kGrammars) {
    CAPTURE(text);
    const auto grammar = gbnf(text, vocabulary);
    for (std::uint64_t seed = 0; seed < walks; ++seed) {
      CAPTURE(seed);
      Dice dice(seed);
      check_walk(grammar, dice, stride, steps);
    }
  }
}

/// Text of counted classes, some of which the vocabulary's classes of characters do not tell apart and some
/// of which they do, and of words that share beginnings.
std::string random_expression(Dice& dice, int depth) {
  static constexpr std::string_view kParts[] = {
      "[a-z]",    "[A-Z]",           "[0-9]",    "[a-zA-Z0-9]",       "[a-y]",   "[^aeiou]",
      ".",        "[\u00e0-\u00ff]", "[ ]",      "[a-z\u00e4\u00f6]", "[^0-9]",  "[^\\x00-\\x7F]",
      "\" the\"", "\"property_1\"",  "\"prop\"", "\"\\\"\"",          "\"\\n\"", "[.,;!]",
      "\"a\"",    "[\u4e00-\u9fff]"};
  std::string text;
  const std::uint32_t parts = 1 + dice.roll(3);
  for (std::uint32_t part = 0; part < parts; ++part) {
    text += " ";
    if (depth > 0 && dice.chance(40))
      text += "(" + random_expression(dice, depth - 1) +
              (dice.chance(50) ? " | " + random_expression(dice, depth - 1) : "") + ")";
    else
      text += kParts[dice.roll(std::size(kParts))];
    const std::uint32_t least = dice.roll(4);
    static constexpr std::uint32_t kMost[] = {1, 3, 20, 60};
    if (dice.chance(60))
      text += "{" + std::to_string(least) + "," + std::to_string(least + kMost[dice.roll(4)]) + "}";
    else if (dice.chance(40))
      text += dice.chance(50) ? "*" : "+";
  }
  return text;
}

/// The rules beside the first make its parts leaves of their own or parts of a larger one.
void check_random_masks(const Vocabulary& vocabulary, std::uint64_t seeds, std::size_t stride) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    Dice dice(1000 + seed);
    const std::string text = "root ::= \"<\" (" + random_expression(dice, 2) + " | " +
                             random_expression(dice, 1) + " nested?) \">\"\nnested ::= \"(\" nested? \")\" " +
                             random_expression(dice, 1) + "\n";
    CAPTURE(seed);
    CAPTURE(text);
    check_walk(gbnf(text, vocabulary), dice, stride, 6);
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

TEST_CASE("mask: equals trying every token, with random grammars of counted classes") {
  for (const Vocabulary& vocabulary : tale_vocabularies()) check_random_masks(vocabulary, 60, 1);
  for (const Vocabulary& vocabulary : published_vocabularies()) check_random_masks(vocabulary, 12, 61);
}

TEST_CASE("mask: equals trying every token where many names with common beginnings may come") {
  std::string text = "root ::= \"{\" (";
  for (int i = 0; i < 300; ++i)
    text += fmt::format("{}\"\\\"{}_{}\\\":\" {}", i == 0 ? "" : " | ", i % 3 == 0 ? "prop" : "property", i,
                        i % 2 == 0 ? "value" : "[0-9]{1,3} \"!\"?");
  text += ")* \"}\"\nvalue ::= \"[\" value? \"]\" | \"true\"\n";
  Dice dice(7);
  for (const Vocabulary& vocabulary : tale_vocabularies()) check_walk(gbnf(text, vocabulary), dice, 1, 12);
  for (const Vocabulary& vocabulary : published_vocabularies())
    check_walk(gbnf(text, vocabulary), dice, 61, 6);
  const Vocabulary bytes =
      byte_vocabulary({"\"prop", "\"property_1", "perty_", "_299\":[", "\":true", "9!\"", "[]]\"p"});
  for (int walk = 0; walk < 20; ++walk) check_walk(gbnf(text, bytes), dice, 1, 12);
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
