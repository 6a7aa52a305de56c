// SPDX-License-Identifier: MIT
#include "text/grammar/grammar_vocabularies.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "text/grammar/gbnf.h"
#include "text/tokenizer_oracle.h"

namespace lanner::text::grammar::test {

namespace {

std::vector<Vocabulary> vocabularies_of(const std::vector<text::test::Oracle>& oracles) {
  std::vector<Vocabulary> result;
  for (const text::test::Oracle& oracle : oracles) {
    std::vector<TokenId> stops;
    for (const char* name : {"<eos>", "<turn|>", "<end_of_turn>", "<|endoftext|>", "<|im_end|>"})
      if (const auto id = oracle.tokenizer.token_id(name)) stops.push_back(*id);
    result.push_back(std::make_shared<GrammarVocabulary>(oracle.tokenizer, stops));
  }
  return result;
}

}  // namespace

Vocabulary byte_vocabulary(const std::vector<std::string>& longer) {
  std::vector<TokenBytes> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.push_back({byte, std::string(1, static_cast<char>(byte))});
  for (const std::string& text : longer) tokens.push_back({static_cast<TokenId>(tokens.size()), text});
  const auto next = static_cast<TokenId>(tokens.size());
  return std::make_shared<GrammarVocabulary>(
      tokens.size() + 3, tokens,
      std::vector<GrammarVocabulary::Marker>{{next, "<a>"}, {next + 1, "<b>"}, {next + 2, "<end>"}},
      std::vector<TokenId>{next + 2});
}

std::vector<Vocabulary> tale_vocabularies() {
  static const std::vector<Vocabulary> kVocabularies = vocabularies_of(text::test::tale_oracles());
  return kVocabularies;
}

std::vector<Vocabulary> published_vocabularies() {
  static const std::vector<Vocabulary> kVocabularies = [] {
    auto oracles = text::test::published_oracles();
    while (oracles.size() > 2) oracles.pop_back();  // The third has the second's vocabulary.
    return vocabularies_of(oracles);
  }();
  return kVocabularies;
}

std::shared_ptr<const Grammar> make_grammar(GrammarSource source, Vocabulary vocabulary) {
  return std::make_shared<Grammar>(std::move(source), std::move(vocabulary));
}

std::shared_ptr<const Grammar> gbnf(std::string_view text, Vocabulary vocabulary) {
  GrammarSource source = parse_gbnf(text, *vocabulary);
  return make_grammar(std::move(source), std::move(vocabulary));
}

std::vector<TokenId> allowed_tokens(const Matcher& matcher) {
  const std::size_t size = matcher.grammar().vocabulary().size();
  std::vector<std::uint64_t> mask(mask_words(size));
  matcher.fill_mask(mask);
  std::vector<TokenId> result;
  for (std::size_t id = 0; id < size; ++id)
    if (allows_token(mask, static_cast<TokenId>(id))) result.push_back(static_cast<TokenId>(id));
  return result;
}

bool accept_bytes(Matcher& matcher, std::string_view text) {
  for (const char c : text)
    if (!matcher.accept(static_cast<unsigned char>(c))) return false;
  return true;
}

std::string random_text(const std::shared_ptr<const Grammar>& grammar, Dice& dice, std::size_t soft_limit) {
  Matcher matcher(grammar);
  const GrammarVocabulary& vocabulary = grammar->vocabulary();
  std::string text;
  for (std::size_t step = 0; step < 10 * soft_limit; ++step) {
    if (matcher.can_end() && (step > soft_limit || dice.chance(20))) return text;
    const std::vector<TokenId> allowed = allowed_tokens(matcher);
    REQUIRE(!allowed.empty());
    TokenId token = allowed[dice.roll(static_cast<std::uint32_t>(allowed.size()))];
    // Past the limit, what closes structures comes first.
    if (step > soft_limit && dice.chance(85))
      for (const TokenId id : allowed)
        for (const char closing : {'"', '}', ']'})
          if (vocabulary.text(id).size() == 1 && vocabulary.text(id)[0] == closing) token = id;
    REQUIRE(matcher.accept(token));
    if (matcher.is_terminated()) return text;
    text += vocabulary.text(token);
  }
  return {};
}

}  // namespace lanner::text::grammar::test
