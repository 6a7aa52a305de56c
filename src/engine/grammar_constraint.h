// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "engine/token_constraint.h"
#include "text/grammar/matcher.h"

namespace lanner::engine {

/// Holds an answer to a grammar.
class GrammarConstraint final : public TokenConstraint {
 public:
  explicit GrammarConstraint(std::shared_ptr<const text::grammar::Grammar> grammar)
      : matcher_(std::move(grammar)) {}

  void fill_mask(std::span<std::uint64_t> mask) override;
  bool accept(TokenId token) override { return matcher_.accept(token); }
  void rollback(std::size_t tokens) override { matcher_.rollback(tokens); }
  std::vector<TokenId> forced() override { return {}; }

 private:
  text::grammar::Matcher matcher_;
  std::vector<std::uint64_t> words_;  ///< for masks with less room than the vocabulary
};

}  // namespace lanner::engine
