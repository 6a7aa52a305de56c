// SPDX-License-Identifier: MIT
// What a grammar answers depends on the tokens taken alone, not on who else uses it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/grammar/grammar_vocabularies.h"
#include "text/grammar/intern_table.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/regex.h"
#include "text/grammar/token_mask.h"
#include "text/grammar/work.h"

using namespace lanner;
using namespace lanner::text::grammar;
using namespace lanner::text::grammar::test;

namespace {

using Make = std::function<GrammarSource()>;
using Answers = std::vector<std::uint64_t>;

constexpr int kWalks = 3;
constexpr std::uint64_t kLimit = 1;

GrammarSource regex(const std::string& text) {
  GrammarSource source;
  const RuleId root = source.add_rule("root");
  source.define(root, parse_whole_regex(source, text, "regex", write_plain));
  source.set_root(root);
  return source;
}

/// Counted parts in counted groups: near the limit, on either side.
std::string random_regex(Dice& dice, int depth) {
  static constexpr const char* kParts[] = {"[a-z]{{1,{}}}",    "\\w{{0,{}}}",
                                           "[^x]{{0,{}}}",     "(\\p{{L}}+ ?){{1,{}}}",
                                           "[\\s\\S]{{0,{}}}", "(a|b|ab|[a-z ]{{1,{}}})",
                                           "({}|é|th[a-z]*)"};
  if (depth == 0) return fmt::format(fmt::runtime(kParts[dice.roll(std::size(kParts))]), 2 + dice.roll(97));
  const char* const join = dice.chance(50) ? "" : "|";
  std::string text = "(";
  for (std::uint32_t i = 0, count = 1 + dice.roll(3); i < count; ++i)
    text += (i == 0 ? "" : join) + random_regex(dice, depth - 1);
  static constexpr const char* kTimes[] = {"", "*", "+", "?"};
  const std::uint32_t times = dice.roll(5);
  return text + ")" + (times < 4 ? kTimes[times] : fmt::format("{{1,{}}}", 2 + dice.roll(198)));
}

/// What a walk of random allowed tokens is told: hashes of its masks and forced texts, and kLimit where one
/// is refused.
Answers follow(const std::shared_ptr<const Grammar>& grammar, std::uint64_t seed) {
  Dice dice(seed);
  Matcher matcher(grammar);
  Answers answers;
  try {
    for (int step = 0; step < 15 && !matcher.is_terminated(); ++step) {
      std::vector<std::uint64_t> mask(mask_words(grammar->vocabulary().size()));
      matcher.fill_mask(mask);
      std::uint64_t hash = 0;
      for (const std::uint64_t word : mask) hash = hash_word(hash, word);
      answers.push_back(hash_word(hash, matcher.forced_text().size()));
      std::vector<TokenId> allowed;
      for (std::size_t id = 0; id < grammar->vocabulary().size(); ++id)
        if (allows_token(mask, static_cast<TokenId>(id))) allowed.push_back(static_cast<TokenId>(id));
      REQUIRE(!allowed.empty());
      REQUIRE(matcher.accept(allowed[dice.roll(static_cast<std::uint32_t>(allowed.size()))]));
    }
  } catch (const GrammarLimit&) {
    answers.push_back(kLimit);
  }
  return answers;
}

struct Count {
  int walks = 0, limits = 0;
};

void check_company(const Make& make, const Vocabulary& vocabulary, Count& count) {
  std::vector<Answers> alone;
  std::shared_ptr<const Grammar> forward;
  try {
    for (std::uint64_t walk = 0; walk < kWalks; ++walk)
      alone.push_back(follow(make_grammar(make(), vocabulary), walk));
    forward = make_grammar(make(), vocabulary);
  } catch (const GrammarLimit&) {
    return;  // It does not compile.
  }
  const auto backward = make_grammar(make(), vocabulary);
  for (std::uint64_t walk = 0; walk < kWalks; ++walk) {
    CAPTURE(walk);
    const std::uint64_t other = kWalks - 1 - walk;
    CHECK(follow(forward, walk) == alone[walk]);
    CHECK(follow(backward, other) == alone[other]);
    ++count.walks;
    count.limits += alone[walk].back() == kLimit ? 1 : 0;
  }
}

}  // namespace

TEST_CASE("grammar: the same request gets the same answer in any company, also near the limit of work") {
  Count count;
  for (const Vocabulary& vocabulary : tale_vocabularies()) {
    for (const char* text : {R"((([^x]{0,40})*([^x]{0,18}|[a-z]{1,73}|(6|é|th[a-z]*))*){1,147}\.)",
                             R"([ab]*a[ab]{300})", R"((A|B((a|b|ab|\w+ )[^x]{0,39}){1,89}!))"}) {
      CAPTURE(text);
      check_company([&] { return regex(text); }, vocabulary, count);
    }
    Dice dice(5);
    for (int i = 0; i < 4; ++i) {
      const std::string text = random_regex(dice, 2 + static_cast<int>(dice.roll(2))) + "\\.";
      CAPTURE(text);
      check_company([&] { return regex(text); }, vocabulary, count);
    }
  }
  CHECK(count.limits > 0);
  CHECK(count.limits < count.walks);
}

TEST_CASE("grammar: schemas whose values meet several conditions get the same answers in any company") {
  Count count;
  for (const Vocabulary& vocabulary : tale_vocabularies())
    for (
        const char* text :
        {R"({"type":"integer","multipleOf":1009})", R"({"type":"integer","multipleOf":30030,"minimum":1})",
         R"({"type":"string","allOf":[{"pattern":"^([a-c]{7})*$"},{"pattern":"^([a-c]{11})*$"},{"pattern":"^([a-c]{13})*$"}]})",
         R"({"type":"object","properties":{"name":{"type":"string","maxLength":40},"names":{"type":"array"}},
              "additionalProperties":{"type":"integer"},"propertyNames":{"pattern":"^[a-z]{1,12}$"}})"}) {
      CAPTURE(text);
      const auto schema = nlohmann::ordered_json::parse(text);
      check_company([&] { return json_schema_grammar(schema); }, vocabulary, count);
    }
  CHECK(count.walks > 0);
}
