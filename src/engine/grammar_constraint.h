// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "engine/token_constraint.h"
#include "text/grammar/matcher.h"
#include "text/tokenizer.h"

namespace lanner::engine {

/// Holds an answer to a grammar.
class GrammarConstraint final : public TokenConstraint {
 public:
  /// `tokenizer` must outlive the constraint.
  GrammarConstraint(std::shared_ptr<const text::grammar::Grammar> grammar, const text::Tokenizer& tokenizer)
      : matcher_(std::move(grammar)), tokenizer_(tokenizer) {}

  void fill_mask(std::span<std::uint64_t> mask, Deadline until) override;
  bool can_end() const override { return matcher_.can_end(); }
  bool accept(TokenId token, Deadline until) override;
  void rollback(std::size_t tokens) override;
  /// The text the grammar leaves no choice about, in the tokenizer's own tokens. Its last token is left to
  /// the model, which may prefer one that reaches further; so is a text that the tokenizer would not split
  /// behind the token accepted last.
  std::vector<TokenId> forced(Deadline until) override;

 private:
  text::grammar::Matcher matcher_;
  const text::Tokenizer& tokenizer_;
  std::vector<TokenId> accepted_;
  std::vector<std::uint64_t> words_;  ///< for masks with less room than the vocabulary
};

}  // namespace lanner::engine
