// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/token.h"
#include "kernels/sampling/logit_edit.h"

namespace lanner::device {

using kernels::edited_logit;
using kernels::LogitEdit;

/// A draw from the softmax of what is left of a row, its words of noise found by seed, choice and position.
struct SampleDraw {
  /// Values of tokens are log-probabilities over what is allowed, divided by `stage_divisor`; not set:
  /// logits, of which nothing drops out.
  bool truncates = false;
  float stage_divisor = 1;
  /// The likeliest tokens that are kept: at most so many, and none beyond this mass; 0 and 1 = all.
  std::size_t top_k = 0;
  float top_p = 1;
  /// The mass is that of what top_k left, not of everything.
  bool top_p_of_rest = false;
  float min_p_log = -std::numeric_limits<float>::infinity();  ///< values this far below the top drop out
  float draw_divisor = 1;                                     ///< divides values for the draw, in float
  double temperature = 1;                                     ///< the same, in double
  std::uint64_t seed = 0;
  std::uint32_t choice = 0;
  std::uint32_t position = 0;
};

/// One token to be chosen, or scored, from a row of logits.
struct SampleJob {
  std::size_t row = 0;
  std::size_t vocabulary = 0;                    ///< ids at or above have no token
  std::vector<LogitEdit> edits = {};             ///< ascending by id, each id once
  std::span<const std::uint64_t> allowed = {};   ///< one bit for each id; empty = all
  std::optional<TokenId> given = {};             ///< the token, where there is no choice
  std::optional<SampleDraw> draw = {};           ///< none = the likeliest
  std::optional<std::size_t> top_logprobs = {};  ///< how likely the token is, and so many of the likeliest
};

struct SampledTop {
  TokenId id = 0;
  float logprob = 0;
};

/// Log-probabilities are over all edited logits.
struct SampleResult {
  TokenId id = 0;
  bool not_a_number = false;  ///< a logit is none, or +infinity
  bool none_left = false;     ///< every token is banned
  float logprob = 0;
  std::vector<SampledTop> top = {};  ///< likeliest first, ties by id
};

}  // namespace lanner::device
