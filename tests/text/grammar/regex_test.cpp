// SPDX-License-Identifier: MIT
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/grammar/regex.h"

#include <doctest/doctest.h>
#include <pcre2.h>

#include "core/error.h"
#include "text/grammar/grammar_vocabularies.h"
#include "text/unicode.h"

using namespace lanner;
using namespace lanner::text::grammar;
using namespace lanner::text::grammar::test;

namespace {

enum class Match { kWhole, kSearch };

std::shared_ptr<const Grammar> regex(const std::string& expression, Match match,
                                     const Vocabulary& vocabulary) {
  GrammarSource source;
  const RuleId root = source.add_rule("root");
  source.define(root, match == Match::kWhole ? parse_whole_regex(source, expression, "regex", write_plain)
                                             : parse_search_regex(source, expression, "regex", write_plain));
  source.set_root(root);
  return make_grammar(std::move(source), vocabulary);
}

bool pcre2_matches(const std::string& expression, const std::string& text, Match match) {
  int code = 0;
  std::size_t offset = 0;
  pcre2_code* compiled = pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
      PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | (match == Match::kWhole ? PCRE2_ANCHORED | PCRE2_ENDANCHORED : 0U),
      &code, &offset, nullptr);
  REQUIRE(compiled != nullptr);
  pcre2_match_data* data = pcre2_match_data_create_from_pattern(compiled, nullptr);
  const int found =
      pcre2_match(compiled, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, 0, data, nullptr);
  pcre2_match_data_free(data);
  pcre2_code_free(compiled);
  return found >= 0;
}

std::string random_regex(Dice& dice, int depth) {
  static const char* const kAtoms[] = {
      "a", "b", "[ab]", "[^a]", "\\d", ".", "\\w", "\u00e9", "[0-5\u00e9-\u4e2d]", "\\x61"};
  switch (dice.roll(depth == 0 ? 2 : 8)) {
    case 0:
    case 1:
      return kAtoms[dice.roll(std::size(kAtoms))];
    case 2:
    case 3:
      return random_regex(dice, depth - 1) + random_regex(dice, depth - 1);
    case 4:
      return "(" + random_regex(dice, depth - 1) + "|" + random_regex(dice, depth - 1) + ")";
    default: {
      static const char* const kCounts[] = {"*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "+?", "{0,2}?"};
      return "(?:" + random_regex(dice, depth - 1) + ")" + kCounts[dice.roll(std::size(kCounts))];
    }
  }
}

std::string random_line(Dice& dice) {
  static const char* const kPieces[] = {"a", "b", "0", "7", "\u00e9", "\u4e2d", "_", "-", "ab"};
  std::string text;
  for (std::uint32_t i = dice.roll(7); i > 0; --i) text += kPieces[dice.roll(std::size(kPieces))];
  return text;
}

std::string error_of(const std::string& expression) {
  try {
    regex(expression, Match::kWhole, byte_vocabulary());
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE(
    "regex: random expressions match the texts that PCRE2 matches, and random walks end in such texts") {
  const Vocabulary vocabulary = byte_vocabulary();
  std::size_t matched = 0;
  for (std::uint64_t seed = 0; seed < 250; ++seed) {
    Dice dice(seed);
    std::string expression = random_regex(dice, 3);
    const Match match = dice.chance(50) ? Match::kWhole : Match::kSearch;
    if (match == Match::kSearch) {
      if (dice.chance(30)) expression = "^" + expression;
      if (dice.chance(30)) expression += "$";
      if (dice.chance(20)) expression = "(" + expression + "|b$)";
    }
    CAPTURE(expression);
    const auto grammar = regex(expression, match, vocabulary);
    for (int i = 0; i < 30; ++i) {
      const std::string text = random_line(dice);
      CAPTURE(text);
      const bool wanted = pcre2_matches(expression, text, match);
      CHECK(grammar->accepts(text) == wanted);
      matched += wanted ? 1 : 0;
    }
    for (int i = 0; i < 3; ++i) {
      const std::string line = random_text(grammar, dice, 12);
      if (line.empty()) continue;
      CAPTURE(line);
      CHECK(lanner::text::find_invalid_utf8(line) == std::string::npos);
      CHECK(pcre2_matches(expression, line, match));
    }
  }
  CHECK(matched > 500);
}

TEST_CASE("regex: classes and escapes of ECMAScript") {
  struct Case {
    const char* expression;
    std::vector<std::string> yes, no;
  };
  const std::vector<Case> cases = {
      {"\\u00e9\\u{1F600}\\uD83D\\uDE00", {"\u00e9\U0001F600\U0001F600"}, {}},
      {"[\\]\\-\\\\]+", {"]-\\"}, {"a"}},
      {"[a-]", {"a", "-"}, {"b"}},
      {"[^]", {"a", "\n"}, {""}},
      {"a{,2}|x{", {"a{,2}", "x{"}, {"aa"}},
      {"\\p{Lu}\\p{L}+", {"\u00c9cole"}, {"\u00e9cole", "A1"}},
      {"\\S\\s", {"a ", "a\u00a0"}, {"  ", "\u00a0a"}},
      {".", {"a", "\u4e2d"}, {"\n", "\r", "\u2028"}},
      {"(?<year>[0-9]{4})-\\/", {"2024-/"}, {}},
      {"\\cJ\\0\\t", {std::string("\n\0\t", 3)}, {}},
  };
  for (const Case& it : cases) {
    CAPTURE(it.expression);
    const auto grammar = regex(it.expression, Match::kWhole, byte_vocabulary());
    for (const std::string& text : it.yes) CHECK_MESSAGE(grammar->accepts(text), text);
    for (const std::string& text : it.no) CHECK_MESSAGE(!grammar->accepts(text), text);
  }
}

TEST_CASE("regex: what cannot be enforced or read is refused with its place") {
  CHECK(error_of("a(?=b)") == "regex: line 1, column 4 (byte 4): looking around is not supported");
  CHECK(error_of("(a)\\1").find("references back") != std::string::npos);
  CHECK(error_of("\\bword").find("not supported") != std::string::npos);
  CHECK(error_of("a(^b)").find("anchors") != std::string::npos);
  CHECK(error_of("(ab").find("no closing )") != std::string::npos);
  CHECK(error_of("ab)").find("unmatched") != std::string::npos);
  CHECK(error_of("[ab").find("no closing ]") != std::string::npos);
  CHECK(error_of("*a").find("nothing to repeat") != std::string::npos);
  CHECK(error_of("a**").find("nothing to repeat") != std::string::npos);
  CHECK(error_of("a{3,1}").find("upper count") != std::string::npos);
  CHECK(error_of("a{200000}").find("number above") != std::string::npos);
  CHECK(error_of("[z-a]").find("wrong order") != std::string::npos);
  CHECK(error_of("\\u12").find("hexadecimal") != std::string::npos);
  CHECK(error_of("a\\").find("unfinished") != std::string::npos);
  CHECK(error_of(std::string(60'000, '(')).find("too deeply") != std::string::npos);
}
