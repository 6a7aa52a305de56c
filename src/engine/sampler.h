// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/token.h"
#include "device/sampling.h"
#include "engine/gumbel_draw.h"
#include "engine/logit_blocks.h"
#include "engine/logit_edits.h"
#include "engine/not_finite.h"
#include "engine/penalties.h"
#include "engine/sampling_options.h"
#include "engine/survivors.h"

namespace lanner::engine {

/// Ids with a part of their own in every choice.
struct TokenLimits {
  std::size_t vocabulary = 0;                        ///< ids at or above this have no token
  std::vector<TokenId> suppressed = {};              ///< never chosen
  std::vector<TokenId> xtc_exempt = {};              ///< never excluded by xtc: ends and line ends
  std::shared_ptr<const DryBreakers> breakers = {};  ///< null = none
};

/// Chooses tokens. The choice is a pure function of options, logits, history and position, the same whatever
/// else runs; mirostat and adaptive_p alone also remember their own choices. Order: logit bias, limits,
/// penalties, DRY (up to here: adjust()); then greedy at temperature 0, or the profile's truncations and
/// temperature and a draw from the softmax of what is left. Ties go to the lower id everywhere.
class Sampler {
 public:
  Sampler(SamplingOptions options, TokenLimits limits);

  /// True when a device can choose as this does; false for choices that look at more than single logits,
  /// their ranking and their mass.
  bool fits_device() const;
  /// Bias, bans and penalties of a row of `columns` logits.
  LogitEdits edits(std::size_t columns, const History& history, std::span<const TokenId> banned) const;
  /// How a device chooses the token that follows; none = the likeliest. For fits_device() only.
  std::optional<device::SampleDraw> draw_after(const History& history) const;
  /// Ids at or above have no token.
  std::size_t vocabulary() const { return limits_.vocabulary; }

  /// Bias, limits and penalties, in place: what log-probabilities are told of. `banned` are ids not allowed
  /// here. Throws Error kInternal when that makes something that is not a number.
  void adjust(LogitBlocks& logits, const History& history, std::span<const TokenId> banned = {}) const;
  /// The token that follows `history` from adjusted logits [V]. Throws Error kInvalidArgument when none is
  /// possible.
  TokenId pick(const LogitBlocks& logits, const History& history);
  /// Both, for a sequence of which nothing is known but that `position` tokens came before; the logits are
  /// scratch after the call.
  TokenId choose(std::span<float> logits, std::span<const TokenId> history, std::size_t position);

  const SamplingOptions& options() const { return options_; }

 private:
  /// What one choice depends on besides the logits.
  struct Place {
    std::size_t position = 0;   ///< of the token in its sequence
    std::size_t generated = 0;  ///< tokens generated before it
  };

  float temperature_at(std::size_t generated) const;
  TokenId choose_from(const LogitBlocks& logits, const Place& place);
  void run_step(SamplerStep step, Survivors& survivors, const Place& place, float& temperature) const;
  TokenId draw_mirostat(Survivors& survivors, const Place& place);
  TokenId draw_adaptive(Survivors& survivors, const Place& place);
  Candidate draw(Survivors& survivors, float temperature, const Place& place) const;

  SamplingOptions options_;
  TokenLimits limits_;
  double mirostat_mu_ = 0;
  double adaptive_sum_ = 0;
  double adaptive_weight_ = 0;
};

/// Throws what choosing throws when every token is banned.
[[noreturn]] void refuse_nothing_left();

}  // namespace lanner::engine
