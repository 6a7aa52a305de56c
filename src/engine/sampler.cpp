// SPDX-License-Identifier: MIT
#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "core/error.h"
#include "core/philox.h"
#include "engine/token_logprobs.h"

namespace lanner::engine {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
// Streams of random words at one position; see the noise of draw().
constexpr std::uint32_t kDrawStream = 0;

/// Standard Gumbel noise of one token at one position, -ln(-ln u) formed so that rare tokens keep full
/// precision.
double gumbel(std::uint32_t word) {
  const double u = std::min((double(word) + 0.5) * 0x1p-32, 1 - 0x1p-24);
  return -std::log(-std::log1p(-u));
}

}  // namespace

TokenId argmax(std::span<const float> logits) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]))
      throw Error(ErrorKind::kInternal, "the model produced a logit that is not a number");
    if (logits[i] > logits[best]) best = i;
  }
  return static_cast<TokenId>(best);
}

Sampler::Sampler(SamplingOptions options, TokenLimits limits)
    : options_(std::move(options)), limits_(std::move(limits)) {}

void Sampler::adjust(std::span<float> logits, std::span<const TokenId> history,
                     std::span<const TokenId> banned) const {
  for (float z : logits)
    if (std::isnan(z)) throw Error(ErrorKind::kInternal, "the model produced a logit that is not a number");
  for (const auto& [id, bias] : options_.logit_bias)
    if (id >= 0 && static_cast<std::size_t>(id) < logits.size()) logits[static_cast<std::size_t>(id)] += bias;
  apply_limits(logits);
  for (TokenId id : banned)
    if (id >= 0 && static_cast<std::size_t>(id) < logits.size())
      logits[static_cast<std::size_t>(id)] = kNever;
  apply_penalties(logits, history);
}

TokenId Sampler::choose(std::span<float> logits, std::span<const TokenId> history, std::size_t position) {
  adjust(logits, history);
  return pick(logits, position);
}

TokenId Sampler::pick(std::span<float> logits, std::size_t position) {
  const TokenId likeliest = argmax(logits);
  if (logits[static_cast<std::size_t>(likeliest)] == kNever)
    throw Error(ErrorKind::kInvalidArgument, "no token is left to choose: every one is banned");
  if (options_.temperature == 0) return likeliest;
  const float total = log_sum_exp(logits);
  for (float& z : logits) z -= total;
  keep_likely(logits);
  return draw(logits, position);
}

void Sampler::apply_limits(std::span<float> logits) const {
  if (limits_.vocabulary < logits.size()) std::ranges::fill(logits.subspan(limits_.vocabulary), kNever);
  for (TokenId id : limits_.suppressed)
    if (id >= 0 && static_cast<std::size_t>(id) < logits.size())
      logits[static_cast<std::size_t>(id)] = kNever;
}

void Sampler::apply_penalties(std::span<float> logits, std::span<const TokenId> history) const {
  if (options_.repetition_penalty == 1 && options_.presence_penalty == 0 && options_.frequency_penalty == 0)
    return;
  if (options_.penalty_window != 0 && history.size() > options_.penalty_window)
    history = history.last(options_.penalty_window);
  std::unordered_map<TokenId, int> counts;
  for (TokenId id : history)
    if (id >= 0 && static_cast<std::size_t>(id) < logits.size()) ++counts[id];
  for (const auto& [id, count] : counts) {
    float& z = logits[static_cast<std::size_t>(id)];
    z = z < 0 ? z * options_.repetition_penalty : z / options_.repetition_penalty;
    z -= options_.presence_penalty + options_.frequency_penalty * static_cast<float>(count);
  }
}

void Sampler::keep_likely(std::span<float> logits) {
  const bool by_rank = options_.top_k > 0 || options_.top_p < 1;
  if (options_.min_p > 0) {
    const float floor = *std::ranges::max_element(logits) + std::log(options_.min_p);
    for (float& l : logits)
      if (l < floor) l = kNever;
  }
  if (!by_rank) return;
  order_.clear();
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (logits[i] != kNever) order_.push_back(static_cast<TokenId>(i));
  const auto likelier = [&](TokenId a, TokenId b) {
    const float la = logits[static_cast<std::size_t>(a)];
    const float lb = logits[static_cast<std::size_t>(b)];
    return la != lb ? la > lb : a < b;
  };
  std::size_t kept = order_.size();
  if (options_.top_k > 0 && options_.top_k < kept) {
    kept = options_.top_k;
    std::ranges::nth_element(order_, order_.begin() + static_cast<std::ptrdiff_t>(kept), likelier);
  }
  std::sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(kept), likelier);
  double mass = 0;
  std::size_t nucleus = 0;
  while (nucleus < kept && (nucleus == 0 || mass < double(options_.top_p)))
    mass += std::exp(double(logits[static_cast<std::size_t>(order_[nucleus++])]));
  for (std::size_t i = nucleus; i < order_.size(); ++i) logits[static_cast<std::size_t>(order_[i])] = kNever;
}

TokenId Sampler::draw(std::span<const float> logits, std::size_t position) const {
  TokenId best = -1;
  double best_value = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] == kNever) continue;
    // Four tokens share one block of random words; the block depends on nothing but seed, position and token.
    const auto words =
        philox4x32(options_.seed, {static_cast<std::uint32_t>(i / 4), static_cast<std::uint32_t>(position),
                                   kDrawStream, options_.choice});
    const double value = double(logits[i]) / double(options_.temperature) + gumbel(words[i % 4]);
    if (best < 0 || value > best_value) {
      best = static_cast<TokenId>(i);
      best_value = value;
    }
  }
  return best;
}

}  // namespace lanner::engine
