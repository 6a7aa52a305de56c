// SPDX-License-Identifier: MIT
#include "engine/penalties.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace lanner::engine {
namespace {

// Limits of llama.cpp: longer breakers are cut.
constexpr std::size_t kMostBreakerBytes = 40;
constexpr std::size_t kMostTailTokens = 20;

std::span<const TokenId> last(std::span<const TokenId> tokens, std::size_t window) {
  return window == 0 || window >= tokens.size() ? tokens : tokens.last(window);
}

/// How often each token of the vocabulary occurs, ascending by id.
std::map<TokenId, int> counts(std::span<const TokenId> tokens, std::size_t vocabulary) {
  std::map<TokenId, int> counted;
  for (TokenId id : tokens)
    if (id >= 0 && static_cast<std::size_t>(id) < vocabulary) ++counted[id];
  return counted;
}

/// z[i] = length of the longest common prefix of s and s[i..], for i > 0.
std::vector<std::size_t> common_prefixes(const std::vector<TokenId>& s) {
  std::vector<std::size_t> z(s.size(), 0);
  std::size_t left = 0;
  std::size_t right = 0;
  for (std::size_t i = 1; i < s.size(); ++i) {
    if (i < right) z[i] = std::min(right - i, z[i - left]);
    while (i + z[i] < s.size() && s[z[i]] == s[i + z[i]]) ++z[i];
    if (i + z[i] > right) {
      left = i;
      right = i + z[i];
    }
  }
  return z;
}

}  // namespace

void add_penalties(LogitEdits& edits, const SamplingOptions& options, const History& history) {
  if (options.repetition_penalty != 1)
    for (const auto& [id, count] : counts(last(history.tokens, options.penalty_window), edits.columns()))
      edits.at(id).repetition = options.repetition_penalty;
  const auto counted = options.profile == SamplerProfile::kHf
                           ? history.tokens.subspan(std::min(history.prompt_tokens, history.tokens.size()))
                           : history.tokens;
  if (options.presence_penalty != 0)
    for (const auto& [id, count] : counts(last(counted, options.presence_window), edits.columns()))
      edits.at(id).presence = options.presence_penalty;
  if (options.frequency_penalty != 0)
    for (const auto& [id, count] : counts(last(counted, options.frequency_window), edits.columns()))
      edits.at(id).frequency = options.frequency_penalty * static_cast<float>(count);
}

DryBreakers::DryBreakers(const text::Tokenizer& tokenizer, const std::vector<std::string>& texts) {
  for (const std::string& whole : texts) {
    const std::string text = whole.substr(0, kMostBreakerBytes);
    if (text.empty()) continue;
    for (std::size_t i = 0; i < tokenizer.vocab_size(); ++i) {
      const auto id = static_cast<TokenId>(i);
      const std::string token = tokenizer.token_bytes(id);
      if (token.find(text) != std::string::npos) {
        tails_[id].emplace_back();
        continue;
      }
      // The token may end in a beginning of the breaker: the rest must follow.
      for (std::size_t n = std::min(token.size(), text.size() - 1); n > 0; --n) {
        if (!token.ends_with(std::string_view(text).substr(0, n))) continue;
        std::vector<TokenId> tail = tokenizer.encode(text.substr(n));
        tail.resize(std::min(tail.size(), kMostTailTokens));
        tails_[id].push_back(std::move(tail));
      }
    }
  }
}

bool DryBreakers::is_breaker(TokenId token) const {
  const auto found = tails_.find(token);
  return found != tails_.end() &&
         std::ranges::any_of(found->second, [](const auto& tail) { return tail.empty(); });
}

std::size_t DryBreakers::tokens_behind_last(std::span<const TokenId> tokens) const {
  for (std::size_t back = 0; back < tokens.size(); ++back) {
    const std::size_t at = tokens.size() - 1 - back;
    const auto found = tails_.find(tokens[at]);
    if (found == tails_.end()) continue;
    std::ptrdiff_t longest = -1;
    for (const std::vector<TokenId>& tail : found->second)
      if (static_cast<std::ptrdiff_t>(tail.size()) > longest && tail.size() <= back &&
          std::equal(tail.begin(), tail.end(), tokens.begin() + static_cast<std::ptrdiff_t>(at + 1)))
        longest = static_cast<std::ptrdiff_t>(tail.size());
    if (longest >= 0) return back - static_cast<std::size_t>(longest);
  }
  return tokens.size();
}

void add_dry(LogitEdits& edits, const DryOptions& options, const DryBreakers& breakers,
             std::span<const TokenId> history) {
  if (options.multiplier == 0 || options.base < 1) return;
  const auto recent = last(history, options.window);
  if (recent.size() <= options.allowed_length) return;
  const std::size_t limit = breakers.tokens_behind_last(recent);
  if (limit < options.allowed_length) return;
  // Reversed, common suffixes are common prefixes.
  const std::vector<TokenId> reversed(recent.rbegin(), recent.rend());
  const std::vector<std::size_t> repeats = common_prefixes(reversed);
  std::map<TokenId, std::size_t> longest;  // by the token that would go on
  for (std::size_t i = 1; i < reversed.size(); ++i) {
    const std::size_t length = std::min(repeats[i], limit);
    if (length < options.allowed_length) continue;
    std::size_t& known = longest[reversed[i - 1]];
    known = std::max(known, length);
  }
  constexpr float kLogMax = 88.7228391F;  // ln of the largest float
  const float most = options.base > 1.000001F ? kLogMax / std::log(options.base) : 0;
  for (const auto& [id, length] : longest) {
    if (!edits.has(id) || breakers.is_breaker(id)) continue;
    float exponent = static_cast<float>(length - options.allowed_length);
    if (most > 0) exponent = std::min(exponent, most);
    edits.at(id).dry = options.multiplier * std::pow(options.base, exponent);
  }
}

}  // namespace lanner::engine
