// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "device/sampling.h"
#include "engine/event.h"
#include "engine/logit_blocks.h"

namespace lanner::engine {

/// How likely `token` is by log_softmax(logits), and the `top` likeliest tokens. Impossible tokens are not
/// listed.
LogprobEntry logprob_entry(const LogitBlocks& logits, TokenId token, std::size_t top);
/// The same as a device found it.
LogprobEntry logprob_entry(const device::SampleResult& chosen);

}  // namespace lanner::engine
