// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <functional>

namespace lanner::engine {

/// How far ahead it pays to guess for one sequence: learns how often the guess at each place is right and
/// picks the depth with the most expected tokens per time. Changes when tokens come, never which.
class DraftDepth {
 public:
  static constexpr std::size_t kDeepest = 16;

  /// The depth, at most `most`, that maximises (1 + expected right guesses) / cost_ms(1 + depth). After it
  /// found that guessing does not pay, it tries again every 64 tokens.
  std::size_t choose(std::size_t most, std::size_t tokens, const std::function<double(std::size_t)>& cost_ms);
  /// The first `accepted` of `drafted` guesses were right.
  void learn(std::size_t drafted, std::size_t accepted);

 private:
  std::array<double, kDeepest> right_ = {0.8, 0.6, 0.4, 0.3, 0.3, 0.3, 0.3, 0.3,
                                         0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3};
  std::size_t retry_at_ = 0;  ///< tokens at which to guess again
};

}  // namespace lanner::engine
