// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/token.h"
#include "engine/sampling_options.h"

namespace lanner::engine {

/// Ids that may never be chosen: rows of a padded table that no token owns, and those a checkpoint
/// suppresses.
struct TokenLimits {
  std::size_t vocabulary = 0;  ///< ids at or above this have no token
  std::vector<TokenId> suppressed;
};

/// Chooses tokens. The choice is a pure function of options, logits, history and position: the same whatever
/// else runs, and whatever was drawn before. Order: logit bias, limits, penalties, then greedy, or on
/// log-probabilities at temperature 1: top_p, min_p, top_k, then a draw from softmax(l / temperature) (the
/// order of mlx-lm). Ties go to the lower id everywhere.
class Sampler {
 public:
  Sampler(SamplingOptions options, TokenLimits limits);

  /// Bias, limits and penalties, in place: what log-probabilities are told of. `history` is all tokens
  /// before; `banned` are ids not allowed here. Throws Error kInternal when a logit is not a number.
  void adjust(std::span<float> logits, std::span<const TokenId> history,
              std::span<const TokenId> banned = {}) const;
  /// The token for index `position` of the sequence from adjusted logits [V], which are scratch after the
  /// call. At least one must be finite.
  TokenId pick(std::span<float> logits, std::size_t position);
  /// Both.
  TokenId choose(std::span<float> logits, std::span<const TokenId> history, std::size_t position);

  const SamplingOptions& options() const { return options_; }

 private:
  void apply_limits(std::span<float> logits) const;
  void apply_penalties(std::span<float> logits, std::span<const TokenId> history) const;
  void keep_likely(std::span<float> logits);
  TokenId draw(std::span<const float> logits, std::size_t position) const;

  SamplingOptions options_;
  TokenLimits limits_;
  std::vector<TokenId> order_;  ///< surviving ids, most likely first
};

/// Index of the largest value; ties: the lowest. Throws Error kInternal when a value is not a number.
TokenId argmax(std::span<const float> logits);

}  // namespace lanner::engine
