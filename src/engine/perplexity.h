// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "device/stream.h"
#include "engine/loaded_model.h"
#include "layers/lora.h"

namespace lanner::engine {

/// How well a model predicts a text.
struct Perplexity {
  std::size_t scored_tokens = 0;
  double total_nll = 0;  ///< natural logarithm

  double nll_per_token() const { return total_nll / static_cast<double>(scored_tokens); }
  double value() const;
};

/// What is scored, and how.
struct PerplexityTask {
  std::span<const TokenId> ids;
  std::size_t chunk = 512;                    ///< tokens
  const layers::LoraSet* adapters = nullptr;  ///< that the model is computed with; none = the model itself
  /// Told the tokens done after each chunk. May be empty.
  std::function<void(std::size_t done)> progress = {};
};

/// Scores ids in chunks that do not overlap, each from an empty cache. A family that begins texts with <bos>
/// gets it as the first token of every chunk, so all ids are scored; else the first token of a chunk is not.
/// Throws Error kInvalidArgument when no token can be scored.
Perplexity measure_perplexity(const LoadedModel& model, device::Stream& stream, const PerplexityTask& task);

}  // namespace lanner::engine
