// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "cache/sequence_cache.h"
#include "core/arena.h"
#include "device/stream.h"
#include "engine/loaded_model.h"
#include "engine/sampler.h"

namespace lanner::engine {

/// Why a generation ended.
enum class FinishReason : std::uint8_t { kStop, kLength, kCancelled };

/// Work done and time taken so far.
struct Timings {
  std::size_t prompt_tokens = 0;
  std::size_t generated_tokens = 0;
  double prompt_seconds = 0;
  double decode_seconds = 0;

  double prompt_rate() const { return prompt_seconds > 0 ? double(prompt_tokens) / prompt_seconds : 0; }
  /// Tokens after the first, which the prompt's last row gave, per second.
  double decode_rate() const {
    return decode_seconds > 0 && generated_tokens > 1 ? double(generated_tokens - 1) / decode_seconds : 0;
  }
};

/// What to continue, and how far.
struct GenerationRequest {
  std::vector<TokenId> prompt;
  SamplingOptions sampling = {};
  std::optional<std::size_t> max_tokens = {};  ///< none = up to the context's end
  std::optional<std::size_t> context = {};     ///< use less of the model's context; none = all
  std::size_t chunk = 512;                     ///< prompt rows of one forward
  /// Asked between forwards; true ends the generation. May be empty.
  std::function<bool()> cancelled = {};
  /// Told after each piece of the prompt: rows done of rows in all. May be empty.
  std::function<void(std::size_t done, std::size_t total)> on_prompt = {};
};

/// One sequence being continued, token by token, on the caller's thread. Model and stream must outlive it.
class Generation {
 public:
  /// Throws Error kInvalidArgument when the prompt is empty or does not fit the context.
  Generation(const LoadedModel& model, device::Stream& stream, GenerationRequest request);

  /// The next token, or std::nullopt at the end. The stop token itself is not returned.
  std::optional<TokenId> next();
  /// Valid once next() has returned std::nullopt.
  FinishReason finish_reason() const { return finish_reason_; }
  const Timings& timings() const { return timings_; }
  /// Prompt and generated tokens.
  std::span<const TokenId> tokens() const { return tokens_; }

 private:
  bool is_cancelled() const { return request_.cancelled && request_.cancelled(); }
  /// Feeds tokens in pieces; logits of the last row, or std::nullopt when cancelled.
  std::optional<Tensor> feed(std::span<const TokenId> ids, layers::Phase phase);

  const LoadedModel& model_;
  device::Stream& stream_;
  GenerationRequest request_;
  cache::SequenceCache cache_;
  Arena arena_;
  Sampler sampler_;
  std::vector<TokenId> tokens_;
  std::size_t fed_ = 0;
  std::size_t limit_ = 0;  ///< tokens in all
  FinishReason finish_reason_ = FinishReason::kCancelled;
  bool finished_ = false;
  Timings timings_;
};

}  // namespace lanner::engine
