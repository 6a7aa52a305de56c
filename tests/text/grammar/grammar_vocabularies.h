// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/philox.h"
#include "text/grammar/grammar.h"
#include "text/grammar/matcher.h"
#include "text/grammar/vocabulary.h"

namespace lanner::text::grammar::test {

using Vocabulary = std::shared_ptr<const GrammarVocabulary>;

/// Random numbers of a seed, one after another.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  /// 0..sides-1.
  std::uint32_t roll(std::uint32_t sides) { return philox4x32(seed_, {count_++, 0, 0, 0})[0] % sides; }
  bool chance(std::uint32_t percent) { return roll(100) < percent; }

 private:
  std::uint64_t seed_;
  std::uint32_t count_ = 0;
};

/// All single bytes (token id = byte), then `longer` as tokens, then the markers <a>, <b> and the stop token
/// <end>.
Vocabulary byte_vocabulary(const std::vector<std::string>& longer = {});
/// The tale models' vocabularies, or the published ones (empty and reported when they are not installed).
std::vector<Vocabulary> tale_vocabularies();
std::vector<Vocabulary> published_vocabularies();

std::shared_ptr<const Grammar> make_grammar(GrammarSource source, Vocabulary vocabulary);
std::shared_ptr<const Grammar> gbnf(std::string_view text, Vocabulary vocabulary = byte_vocabulary());

/// The tokens that the mask allows.
std::vector<TokenId> allowed_tokens(const Matcher& matcher);
/// Accepts the text byte by byte (with a byte_vocabulary()); false where it cannot go on.
bool accept_bytes(Matcher& matcher, std::string_view text);
/// Follows random allowed tokens until a stop token, preferring stops and short ways after `soft_limit`
/// tokens. Empty when it did not come to an end in 10 times as many.
std::string random_text(const std::shared_ptr<const Grammar>& grammar, Dice& dice, std::size_t soft_limit);

}  // namespace lanner::text::grammar::test
