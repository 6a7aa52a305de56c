// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "text/grammar/grammar_bombs.h"
#include "text/grammar/regex.h"
#include "text/grammar/token_mask.h"
#include "text/grammar/work.h"

using namespace lanner;
using namespace lanner::text::grammar;
using namespace lanner::text::grammar::test;

namespace {

Vocabulary tool_vocabulary() {
  std::vector<TokenBytes> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.push_back({byte, std::string(1, static_cast<char>(byte))});
  for (const char* text : {"\",\"", "{\"", "ab", "aaaaaaaa", "  ", "]}", "\xC3", "text", "\": null"})
    tokens.push_back({static_cast<TokenId>(tokens.size()), text});
  auto next = static_cast<TokenId>(tokens.size());
  std::vector<GrammarVocabulary::Marker> markers;
  for (const char* name : {"<|tool_call>", "<tool_call|>", "<|\"|>", "<tool_call>", "</tool_call>", "<end>"})
    markers.push_back({next++, name});
  return std::make_shared<GrammarVocabulary>(static_cast<std::size_t>(next), tokens, markers,
                                             std::vector<TokenId>{next - 1});
}

/// The bomb's grammar; nothing, and `why`, when it is refused.
std::shared_ptr<const Grammar> compiled(const Bomb& bomb, const Vocabulary& vocabulary, std::string& why) {
  try {
    return make_grammar(bomb.write(*vocabulary), vocabulary);
  } catch (const Error& error) {
    REQUIRE(error.kind() != ErrorKind::kInternal);
    why = error.what();
    return nullptr;
  }
}

/// Follows random allowed tokens, each of which takes kTokenWork at most.
void walk(const std::shared_ptr<const Grammar>& grammar, Dice& dice) {
  Matcher matcher(grammar);
  for (int step = 0; step < 300 && !matcher.is_terminated(); ++step) {
    const std::vector<TokenId> allowed = allowed_tokens(matcher);
    REQUIRE(!allowed.empty());
    REQUIRE(matcher.accept(allowed[dice.roll(static_cast<std::uint32_t>(allowed.size()))]));
  }
}

}  // namespace

TEST_CASE("grammar bombs: every front end compiles them or says why not, within kCompileWork steps") {
  const Vocabulary vocabulary = tool_vocabulary();
  for (const Bomb& bomb : grammar_bombs()) {
    CAPTURE(bomb.name);
    std::string why;
    const auto grammar = compiled(bomb, vocabulary, why);
    CHECK((grammar == nullptr) == !why.empty());
    if (bomb.answer == Bomb::Answer::kWorks) CHECK_MESSAGE(grammar != nullptr, why);
  }
}

TEST_CASE("grammar bombs: those that compile are followed for hundreds of tokens, each within its work") {
  const Vocabulary vocabulary = tool_vocabulary();
  for (const Bomb& bomb : grammar_bombs()) {
    CAPTURE(bomb.name);
    std::string why;
    const auto grammar = compiled(bomb, vocabulary, why);
    if (grammar == nullptr) continue;
    Dice dice(7);
    try {
      for (int i = 0; i < 3; ++i) walk(grammar, dice);
    } catch (const GrammarLimit& limit) {
      CHECK_MESSAGE(bomb.answer == Bomb::Answer::kAny, limit.what());
    }
  }
}

TEST_CASE("grammar bombs: behind a deadline nothing changes, and the same may be asked again") {
  const Vocabulary vocabulary = tool_vocabulary();
  const std::chrono::steady_clock::time_point passed{};
  int late = 0;
  for (const Bomb& bomb : grammar_bombs()) {
    CAPTURE(bomb.name);
    std::string why;
    const auto grammar = compiled(bomb, vocabulary, why);
    if (grammar == nullptr) continue;
    Dice dice(7);
    try {
      Matcher hurried(grammar);
      Matcher patient(make_grammar(bomb.write(*vocabulary), vocabulary));
      const auto insist = [&](auto&& ask) {
        try {
          ask(WorkDeadline(passed));
        } catch (const GrammarLate&) {
          ++late;
          ask(WorkDeadline());
        }
      };
      for (int step = 0; step < 100 && !patient.is_terminated(); ++step) {
        std::vector<std::uint64_t> mask(mask_words(vocabulary->size()));
        std::vector<std::uint64_t> want = mask;
        patient.fill_mask(want);
        insist([&](WorkDeadline until) { hurried.fill_mask(mask, until); });
        REQUIRE(mask == want);
        const std::string forced = patient.forced_text();
        std::string same;
        insist([&](WorkDeadline until) { same = hurried.forced_text(Matcher::kMaxForcedBytes, until); });
        REQUIRE(same == forced);
        const std::vector<TokenId> allowed = allowed_tokens(patient);
        const TokenId next = allowed[dice.roll(static_cast<std::uint32_t>(allowed.size()))];
        bool taken = false;
        insist([&](WorkDeadline until) { taken = hurried.accept(next, until); });
        REQUIRE(taken);
        REQUIRE(patient.accept(next));
      }
    } catch (const GrammarLimit& limit) {
      CHECK_MESSAGE(bomb.answer == Bomb::Answer::kAny, limit.what());
    }
  }
  CHECK(late > 0);
}

TEST_CASE("grammar bombs: what took too much work for a token takes too much when it is asked again") {
  const Vocabulary vocabulary = byte_vocabulary({std::string(1000, 'a')});
  GrammarSource source;
  const ExprId root = parse_whole_regex(source, "(a?){2000}a{2000}", "regex", write_plain);
  const RuleId rule = source.add_rule("root");
  source.define(rule, root);
  source.set_root(rule);
  const auto grammar = make_grammar(std::move(source), vocabulary);
  const auto follow = [&] {
    try {
      Matcher matcher(grammar);
      for (int step = 0; step < 2000; ++step) {
        (void)allowed_tokens(matcher);
        if (!matcher.accept('a')) return std::string("refused");
      }
    } catch (const GrammarLimit& limit) {
      return std::string(limit.what());
    }
    return std::string("followed");
  };
  const std::string first = follow();
  CHECK(first.find("too much work") != std::string::npos);
  for (int again = 0; again < 3; ++again) CHECK(follow() == first);
}
