// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/token.h"
#include "engine/logit_edits.h"
#include "engine/sampling_options.h"
#include "text/tokenizer.h"

namespace lanner::engine {

/// The tokens before the one to be chosen.
struct History {
  std::span<const TokenId> tokens = {};
  std::size_t prompt_tokens = 0;  ///< how many of them are the prompt's
};

/// Repetition, presence and frequency penalty.
void add_penalties(LogitEdits& edits, const SamplingOptions& options, const History& history);

/// Texts across which DRY sees no repetition, as tokens: for each token that may begin one, the tokens that
/// must follow for it to be complete.
class DryBreakers {
 public:
  DryBreakers() = default;
  DryBreakers(const text::Tokenizer& tokenizer, const std::vector<std::string>& texts);

  /// True when the token alone holds a breaker.
  bool is_breaker(TokenId token) const;
  /// Tokens behind the last breaker in `tokens`; all when there is none.
  std::size_t tokens_behind_last(std::span<const TokenId> tokens) const;

 private:
  std::unordered_map<TokenId, std::vector<std::vector<TokenId>>> tails_;
};

/// The DRY penalty.
void add_dry(LogitEdits& edits, const DryOptions& options, const DryBreakers& breakers,
             std::span<const TokenId> history);

}  // namespace lanner::engine
