// SPDX-License-Identifier: MIT
#include "text/grammar/grammar.h"

#include <doctest/doctest.h>

#include <set>

#include "core/error.h"
#include "text/grammar/grammar_oracle.h"
#include "text/grammar/grammar_vocabularies.h"
#include "text/grammar/matcher.h"

using namespace lanner;
using namespace lanner::text::grammar;
using namespace lanner::text::grammar::test;

namespace {

/// A random expression over a and b that uses rules up to `rules`.
ExprId random_expr(GrammarSource& source, Dice& dice, std::uint32_t rules, int depth) {
  switch (dice.roll(depth == 0 ? 4 : 9)) {
    case 0:
      return source.literal("a");
    case 1:
      return source.literal("b");
    case 2:
      return dice.chance(50) ? source.literal("ab") : source.empty();
    case 3:
    case 4:
      return source.rule(dice.roll(rules));
    case 5:
    case 6:
      return source.sequence(
          {random_expr(source, dice, rules, depth - 1), random_expr(source, dice, rules, depth - 1)});
    case 7:
      return source.choice(
          {random_expr(source, dice, rules, depth - 1), random_expr(source, dice, rules, depth - 1)});
    default: {
      static constexpr std::pair<std::uint32_t, std::uint32_t> kCounts[] = {
          {0, 1}, {0, kUnbounded}, {1, kUnbounded}, {2, 2}, {2, kUnbounded}, {0, 2}, {1, 3}};
      const auto [min, max] = kCounts[dice.roll(std::size(kCounts))];
      return source.repeat(random_expr(source, dice, rules, depth - 1), min, max);
    }
  }
}

GrammarSource random_source(Dice& dice) {
  GrammarSource source;
  const std::uint32_t rules = 1 + dice.roll(4);
  for (std::uint32_t i = 0; i < rules; ++i) source.add_rule("r" + std::to_string(i));
  for (RuleId rule = 0; rule < rules; ++rule) source.define(rule, random_expr(source, dice, rules, 3));
  source.set_root(0);
  return source;
}

std::vector<std::string> texts_up_to(std::size_t length) {
  std::vector<std::string> texts{""};
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (texts[i].size() < length)
      for (const char c : {'a', 'b'}) texts.push_back(texts[i] + c);
  return texts;
}

}  // namespace

TEST_CASE("grammar: random rules, left-recursive and ambiguous ones too, accept exactly the oracle's texts") {
  const Vocabulary vocabulary = byte_vocabulary();
  const std::vector<std::string> texts = texts_up_to(6);
  std::size_t accepted = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    const GrammarSource source = random_source(dice);
    std::set<std::string> wanted;
    for (const std::string& text : texts)
      if (oracle_accepts(source, text)) wanted.insert(text);
    std::shared_ptr<const Grammar> grammar;
    try {
      grammar = make_grammar(source, vocabulary);
    } catch (const Error&) {
      CHECK(wanted.empty());  // No text satisfies it.
      ++refused;
      continue;
    }
    for (const std::string& text : texts) {
      CAPTURE(text);
      Matcher matcher(grammar);
      const bool alive = accept_bytes(matcher, text);
      REQUIRE((alive && matcher.can_end()) == wanted.contains(text));
      if (alive) {  // Every beginning that is let through can be completed.
        Dice walk(seed);
        bool ended = matcher.can_end();
        for (int attempt = 0; attempt < 200 && !ended; ++attempt) {
          Matcher rest = matcher;
          for (int step = 0; step < 30 && !ended; ++step) {
            const std::vector<TokenId> allowed = allowed_tokens(rest);
            REQUIRE(!allowed.empty());
            REQUIRE(rest.accept(allowed[walk.roll(static_cast<std::uint32_t>(allowed.size()))]));
            ended = rest.can_end();
          }
        }
        CHECK(ended);
        ++accepted;
      }
    }
  }
  MESSAGE(accepted << " beginnings let through, " << refused << " grammars without any text");
  CHECK(accepted > 1000);
}

TEST_CASE("grammar: rolling back any number of tokens equals a fresh matcher") {
  const Vocabulary vocabulary = byte_vocabulary({"ab", "aba", "bb"});
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    std::shared_ptr<const Grammar> grammar;
    try {
      grammar = make_grammar(random_source(dice), vocabulary);
    } catch (const Error&) {
      continue;
    }
    Matcher matcher(grammar);
    std::vector<TokenId> tokens;
    for (int step = 0; step < 30; ++step) {
      if (!tokens.empty() && dice.chance(30)) {
        const std::size_t back = 1 + dice.roll(static_cast<std::uint32_t>(tokens.size()));
        matcher.rollback(back);
        tokens.resize(tokens.size() - back);
      }
      const std::vector<TokenId> allowed = allowed_tokens(matcher);
      const TokenId token = allowed[dice.roll(static_cast<std::uint32_t>(allowed.size()))];
      REQUIRE(matcher.accept(token));
      tokens.push_back(token);
      Matcher fresh(grammar);
      for (const TokenId id : tokens) REQUIRE(fresh.accept(id));
      CHECK(allowed_tokens(matcher) == allowed_tokens(fresh));
      CHECK(matcher.can_end() == fresh.can_end());
      CHECK(matcher.is_terminated() == fresh.is_terminated());
      CHECK(matcher.forced_text() == fresh.forced_text());
    }
    CHECK_THROWS_AS(matcher.rollback(tokens.size() + 1), Error);
  }
}

TEST_CASE("grammar: after a stop token only stop tokens come, and a refused token changes nothing") {
  const auto grammar = gbnf("root ::= \"x\"");
  const TokenId stop = grammar->vocabulary().stop_ids()[0];
  Matcher matcher(grammar);
  CHECK_FALSE(matcher.accept(stop));
  CHECK_FALSE(matcher.accept('y'));
  CHECK_FALSE(matcher.accept(-1));
  CHECK_FALSE(matcher.accept(1'000'000));
  CHECK(matcher.size() == 0);
  REQUIRE(matcher.accept('x'));
  CHECK(allowed_tokens(matcher) == std::vector<TokenId>{stop});
  REQUIRE(matcher.accept(stop));
  CHECK(matcher.is_terminated());
  CHECK(allowed_tokens(matcher) == std::vector<TokenId>{stop});
  CHECK_FALSE(matcher.accept('x'));
  matcher.rollback(1);
  CHECK_FALSE(matcher.is_terminated());
}

TEST_CASE("grammar: forced text goes on up to the next choice") {
  Matcher matcher(gbnf("root ::= \"{\\\"name\\\":\" (\"1\" | \"2\") \"}\""));
  CHECK(matcher.forced_text() == "{\"name\":");
  CHECK(matcher.forced_text(3) == "{\"n");
  REQUIRE(accept_bytes(matcher, "{\"name\":1"));
  CHECK(matcher.forced_text() == "}");
  REQUIRE(accept_bytes(matcher, "}"));
  CHECK(matcher.forced_text().empty());
}

TEST_CASE("grammar: long and deep texts take neither much time nor stack") {
  const auto nested = gbnf("root ::= \"(\" root \")\" | \"\"");
  Matcher matcher(nested);
  REQUIRE(accept_bytes(matcher, std::string(20'000, '(')));
  REQUIRE(accept_bytes(matcher, std::string(20'000, ')')));
  CHECK(matcher.can_end());
  CHECK_FALSE(matcher.accept(')'));
  for (const char* rules : {"root ::= \"a\" root | \"b\"", "root ::= root \"a\" | \"a\" | root \"b\"",
                            "root ::= x \"a\" | \"a\"\nx ::= root | root \"b\""}) {
    Matcher list(gbnf(rules));
    REQUIRE(accept_bytes(list, std::string(20'000, 'a')));
  }
}

TEST_CASE("grammar: rules that never end are refused, and so are counts nobody can read") {
  for (const char* rules : {"root ::= root", "root ::= a\na ::= b\nb ::= a", "root ::= \"x\" root",
                            "root ::= ( ( root ) ){2,3}", "root ::= [^\\x00-\\U0010FFFF]"})
    CHECK_THROWS_AS(gbnf(rules), Error);
}
