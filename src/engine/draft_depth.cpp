// SPDX-License-Identifier: MIT
#include "engine/draft_depth.h"

#include <algorithm>

namespace lanner::engine {
namespace {

constexpr double kMemory = 0.9;
constexpr std::size_t kRetryTokens = 64;

}  // namespace

std::size_t DraftDepth::choose(std::size_t most, std::size_t tokens,
                               const std::function<double(std::size_t)>& cost_ms) {
  most = std::min(most, kDeepest);
  if (most == 0 || tokens < retry_at_) return 0;
  const double alone = cost_ms(1);
  if (alone <= 0) return most;  // nothing measured yet
  std::size_t best = 0;
  double best_rate = 1 / alone;
  double expected = 1;
  double chance = 1;
  for (std::size_t depth = 1; depth <= most; ++depth) {
    chance *= right_[depth - 1];
    expected += chance;
    const double rate = expected / cost_ms(1 + depth);
    if (rate > best_rate) {
      best_rate = rate;
      best = depth;
    }
  }
  if (best > 0) return best;
  const bool retries = retry_at_ != 0;  // one guess, so that the news is not old for ever
  retry_at_ = tokens + kRetryTokens;
  return retries ? 1 : 0;
}

void DraftDepth::learn(std::size_t drafted, std::size_t accepted) {
  drafted = std::min(drafted, kDeepest);
  for (std::size_t i = 0; i < drafted && i <= accepted; ++i)
    right_[i] = kMemory * right_[i] + (1 - kMemory) * (i < accepted ? 1.0 : 0.0);
}

}  // namespace lanner::engine
