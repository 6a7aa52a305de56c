// SPDX-License-Identifier: MIT
#include "engine/token_logprobs.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/portable_math.h"

namespace lanner::engine {

float log_sum_exp(std::span<const float> z) {
  const float top = *std::ranges::max_element(z);
  std::uint64_t mass = 0;
  for (float value : z) mass += integer_mass(double(value) - double(top));
  return top + static_cast<float>(log_of_mass(mass));
}

LogprobEntry logprob_entry(std::span<const float> logits, TokenId token, std::size_t top) {
  const float total = log_sum_exp(logits);
  LogprobEntry entry{.token = {token, logits[static_cast<std::size_t>(token)] - total}, .top = {}};
  // The smallest kept is in front; a vocabulary is long and a list short.
  const auto likelier = [](const TokenLogprob& a, const TokenLogprob& b) {
    return a.logprob != b.logprob ? a.logprob > b.logprob : a.id < b.id;
  };
  std::vector<TokenLogprob>& heap = entry.top;
  for (std::size_t i = 0; i < logits.size() && top > 0; ++i) {
    if (logits[i] == -std::numeric_limits<float>::infinity()) continue;
    const TokenLogprob candidate{static_cast<TokenId>(i), logits[i] - total};
    if (heap.size() == top) {
      if (!likelier(candidate, heap.front())) continue;
      std::ranges::pop_heap(heap, likelier);
      heap.pop_back();
    }
    heap.push_back(candidate);
    std::ranges::push_heap(heap, likelier);
  }
  std::ranges::sort(heap, likelier);
  return entry;
}

LogprobEntry logprob_entry(const device::SampleResult& chosen) {
  LogprobEntry entry{.token = {chosen.id, chosen.logprob}, .top = {}};
  for (const device::SampledTop& top : chosen.top) entry.top.push_back({top.id, top.logprob});
  return entry;
}

}  // namespace lanner::engine
