// SPDX-License-Identifier: MIT
#include "engine/ngram_drafter.h"

#include <algorithm>
#include <utility>

namespace lanner::engine {
namespace {

// Looking at more occurrences finds hardly longer ones, and repetitive texts have thousands.
constexpr std::size_t kMostCandidates = 32;

std::uint64_t hash_before(std::span<const TokenId> text, std::size_t end) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (std::size_t i = end - NgramDrafter::kMinMatch; i < end; ++i)
    hash = (hash ^ static_cast<std::uint32_t>(text[i])) * 0x9E3779B97F4A7C15U;
  return hash;
}

/// Tokens before `a` that equal those before `b`, at most kMaxMatch.
std::size_t match_length(std::span<const TokenId> text, std::size_t a, std::size_t b) {
  std::size_t length = 0;
  while (length < NgramDrafter::kMaxMatch && length < a && text[a - 1 - length] == text[b - 1 - length])
    ++length;
  return length;
}

}  // namespace

void NgramDrafter::index(std::span<const TokenId> text) {
  previous_.resize(text.size() + 1, 0);
  for (std::size_t end = std::max(indexed_ + 1, kMinMatch); end <= text.size(); ++end) {
    auto [at, added] = latest_.try_emplace(hash_before(text, end), end);
    if (!added) previous_[end] = std::exchange(at->second, end);
  }
  indexed_ = text.size();
}

std::vector<TokenId> NgramDrafter::propose(std::span<const TokenId> text, std::size_t count) {
  if (count == 0 || text.size() <= kMinMatch) return {};
  index(text);
  std::size_t best_length = kMinMatch - 1;
  std::size_t best_end = 0;
  std::size_t end = previous_[text.size()];
  for (std::size_t tried = 0; end != 0 && tried < kMostCandidates; end = previous_[end], ++tried) {
    const std::size_t length = match_length(text, end, text.size());
    if (length <= best_length) continue;
    best_length = length;
    best_end = end;
    if (length == kMaxMatch) break;
  }
  if (best_end == 0) return {};
  const auto follow = text.subspan(best_end, std::min(count, text.size() - best_end));
  return {follow.begin(), follow.end()};
}

}  // namespace lanner::engine
