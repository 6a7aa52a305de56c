// SPDX-License-Identifier: MIT
#include "engine/token_logprobs.h"

#include "core/portable_math.h"
#include "engine/survivors.h"

namespace lanner::engine {

LogprobEntry logprob_entry(const LogitBlocks& logits, TokenId token, std::size_t top) {
  const float largest = logits.value(logits.top());
  const float total = largest + static_cast<float>(log_of_mass(logits.mass_sum()(logits.values(), largest)));
  LogprobEntry entry{.token = {token, logits.value(token) - total}, .top = {}};
  Survivors survivors(logits);
  survivors.subtract(double(total));
  for (const Candidate& candidate : survivors.likeliest(top))
    entry.top.push_back({candidate.id, candidate.value});
  return entry;
}

LogprobEntry logprob_entry(const device::SampleResult& chosen) {
  LogprobEntry entry{.token = {chosen.id, chosen.logprob}, .top = {}};
  for (const device::SampledTop& top : chosen.top) entry.top.push_back({top.id, top.logprob});
  return entry;
}

}  // namespace lanner::engine
