// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/error.h"
#include "core/token.h"
#include "engine/state_file.h"
#include "text/output_parser_events.h"

namespace lanner::engine {

/// Why a choice ended.
enum class FinishReason : std::uint8_t {
  kStop,       ///< end of text, a stop id or a stop string
  kLength,     ///< max_tokens, the context or the memory
  kCancelled,  ///< by the caller or by shutdown
};

/// A token and how likely the model found it: natural logarithm, over the whole vocabulary, after bias and
/// penalties, before temperature, truncation and constraints.
struct TokenLogprob {
  TokenId id = 0;
  float logprob = 0;
};

/// The likelihood of one token of a text, and the likeliest tokens at its place, likeliest first, ties by id.
struct LogprobEntry {
  TokenLogprob token;
  std::vector<TokenLogprob> top;
};

/// Which part of an answer a token belongs to.
enum class AnswerPart : std::uint8_t { kReasoning, kContent, kToolCall };

/// A piece of the prompt is computed.
struct PromptProgress {
  std::size_t done = 0;    ///< prompt tokens computed or found
  std::size_t total = 0;   ///< prompt tokens
  std::size_t cached = 0;  ///< of `done`: found in the prefix store
};

/// Likelihoods of the prompt's tokens from index `first` on (the first token of a text has none).
struct PromptLogprobs {
  std::size_t first = 0;
  std::vector<LogprobEntry> entries;
};

/// The pooled final hidden state of a prompt, [H], not normalised.
struct Embedding {
  std::vector<float> values;
};

/// A prompt's caches, to be written to a file.
struct PromptState {
  std::shared_ptr<const StateImage> image;
};

/// One more token of a choice, and the text that it makes certain.
struct TokenEvent {
  std::size_t choice = 0;
  TokenId id = 0;
  AnswerPart part = AnswerPart::kContent;
  std::optional<LogprobEntry> logprob;  ///< when asked for
  std::vector<text::OutputEvent> text;
};

/// What a choice cost.
struct ChoiceUsage {
  std::size_t generated_tokens = 0;
  std::size_t reasoning_tokens = 0;  ///< of them
  std::size_t drafted_tokens = 0;    ///< guesses that were checked
  std::size_t accepted_tokens = 0;   ///< guesses that were right
  std::size_t preemptions = 0;
};

/// A choice is complete.
struct ChoiceEnd {
  std::size_t choice = 0;
  FinishReason reason = FinishReason::kStop;
  std::optional<std::string> stop_string;  ///< the one that was met
  std::optional<TokenId> stop_id;          ///< the end-of-text or stop id that was chosen
  std::vector<text::OutputEvent> text;     ///< what was still held back
  ChoiceUsage usage;
};

/// Where a request's time went.
struct Timings {
  std::size_t prompt_tokens = 0;     ///< of the prompt, whether computed or found
  std::size_t cached_tokens = 0;     ///< of them: found in the prefix store
  std::size_t generated_tokens = 0;  ///< of all choices
  double queue_seconds = 0;          ///< from submission to the start
  double prompt_seconds = 0;         ///< from there to the first token
  double decode_seconds = 0;         ///< from there to the end

  double prompt_rate() const {
    return prompt_seconds > 0 ? double(prompt_tokens - cached_tokens) / prompt_seconds : 0;
  }
  /// Tokens after the first, which the prompt's last row gave, per second.
  double decode_rate() const {
    return decode_seconds > 0 && generated_tokens > 1 ? double(generated_tokens - 1) / decode_seconds : 0;
  }
};

/// All choices are complete; the last event.
struct RequestEnd {
  Timings timings;
};

/// Why a request failed after it was accepted.
enum class FailureKind : std::uint8_t {
  kError,         ///< `error` tells
  kGrammarLimit,  ///< what its answer must be takes more work or memory than one request may cause
  kDeadline,      ///< it took longer than it was given
  kQueueTimeout,  ///< it waited longer than it was willing to
  kDeviceLost,    ///< the device failed for good; the engine loads the model again
};

/// The request ends without a result; the last event.
struct Failure {
  FailureKind kind = FailureKind::kError;
  ErrorKind error = ErrorKind::kInternal;
  std::string message;
};

using Event = std::variant<PromptProgress, PromptLogprobs, Embedding, PromptState, TokenEvent, ChoiceEnd,
                           RequestEnd, Failure>;

}  // namespace lanner::engine
