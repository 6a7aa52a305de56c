// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cache/sequence_cache.h"
#include "engine/event.h"
#include "engine/sequence.h"
#include "layers/step.h"

namespace lanner::engine {

/// What one sequence does in one forward: rows for decided tokens that its cache lacks, then perhaps for
/// tokens that probably follow.
struct StepWork {
  Sequence* sequence = nullptr;
  layers::Phase phase = layers::Phase::kDecode;
  std::size_t begin = 0;                  ///< index of the first row's token
  std::vector<TokenId> ids = {};          ///< of the rows
  std::size_t guesses = 0;                ///< of the rows, at the end: not decided when the step began
  std::vector<std::int32_t> wanted = {};  ///< rows whose logits are needed
  std::optional<cache::Draft> draft = {};
  std::optional<Failure> failure = {};             ///< what went wrong with this sequence alone
  std::vector<LogprobEntry> prompt_logprobs = {};  ///< of the prompt's tokens after the wanted rows

  std::size_t rows() const { return ids.size(); }
};

}  // namespace lanner::engine
