// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include "device/sampling.h"
#include "engine/event.h"

namespace lanner::engine {

/// ln(sum of exp(z)); -infinity entries count nothing. z must have a finite entry.
float log_sum_exp(std::span<const float> z);

/// How likely `token` is by log_softmax(logits), and the `top` likeliest tokens. Impossible tokens are not
/// listed.
LogprobEntry logprob_entry(std::span<const float> logits, TokenId token, std::size_t top);
/// The same as a device found it.
LogprobEntry logprob_entry(const device::SampleResult& chosen);

}  // namespace lanner::engine
