// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/token.h"

namespace lanner::engine {

/// Guesses the next tokens of a text from its own past: finds the longest earlier occurrence of the text's
/// end (3 to 8 tokens; the latest among equals) and proposes what followed it. A pure function of the text.
/// Source: Saxena, "Prompt lookup decoding", 2023.
class NgramDrafter {
 public:
  static constexpr std::size_t kMinMatch = 3;
  static constexpr std::size_t kMaxMatch = 8;

  /// At most `count` tokens that may follow `text`. Each call's text must begin with the text of the call
  /// before.
  std::vector<TokenId> propose(std::span<const TokenId> text, std::size_t count);

 private:
  void index(std::span<const TokenId> text);

  std::size_t indexed_ = 0;                                ///< tokens seen
  std::unordered_map<std::uint64_t, std::size_t> latest_;  ///< by hash: end of the latest such 3 tokens
  std::vector<std::size_t> previous_;                      ///< by end: the end of the one before, 0 = none
};

}  // namespace lanner::engine
