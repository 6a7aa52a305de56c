// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "core/token.h"

namespace lanner::engine {

/// How the next token is chosen from its logits. The neutral value of each field switches it off.
struct SamplingOptions {
  float temperature = 1;  ///< 0 = greedy
  std::size_t top_k = 0;
  float top_p = 1;
  float min_p = 0;
  float repetition_penalty = 1;  ///< over the last `penalty_window` tokens, prompt included
  float presence_penalty = 0;
  float frequency_penalty = 0;
  std::size_t penalty_window = 20;  ///< 0 = all tokens
  std::map<TokenId, float> logit_bias = {};
  std::uint64_t seed = 0;
  std::uint32_t choice = 0;  ///< which of several continuations with one seed
};

}  // namespace lanner::engine
