// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/checkpoint.h"
#include "core/token.h"
#include "engine/adapter_set.h"
#include "engine/answer_parser.h"
#include "engine/pooling.h"
#include "engine/sampling_options.h"
#include "engine/token_constraint.h"

namespace lanner::engine {

/// What the checkpoint's end-of-text tokens do.
enum class EndOfText : std::uint8_t {
  kStops,   ///< end the answer
  kBanned,  ///< are never chosen
};

/// A beginning of a prompt that other prompts are likely to share.
struct PrefixCheckpoint {
  std::size_t tokens = 0;
  cache::CheckpointClass kind = cache::CheckpointClass::kUser;

  bool operator==(const PrefixCheckpoint&) const = default;
};

/// What a request takes from and leaves in the prefix store.
struct PrefixUse {
  bool read = true;
  bool write = true;
};

/// How many tokens are guessed.
enum class DraftRule : std::uint8_t {
  kAdaptive,  ///< as many as pay, from measured times and how often guesses were right
  kFixed,     ///< always as many as allowed
};

/// Guesses at most `count` tokens that may follow `text`, for callers that know what is likely to come.
/// Called on the engine's thread.
using DraftSource = std::function<std::vector<TokenId>(std::span<const TokenId> text, std::size_t count)>;

/// A prompt to continue, and how.
struct Request {
  std::vector<TokenId> prompt = {};
  SamplingOptions sampling = {};
  /// What AdapterRegistry::select() gave of the engine's; nullptr = the model itself.
  std::shared_ptr<const AdapterSet> adapters = {};
  std::size_t choices = 1;                     ///< continuations of the prompt, each with its own randomness
  std::optional<std::size_t> max_tokens = {};  ///< of each choice; none = what the context and memory hold
  std::size_t min_tokens = 0;                  ///< end-of-text and stop ids are banned before that many
  std::optional<std::size_t> context = {};     ///< use less of the model's context; none = all
  EndOfText end_of_text = EndOfText::kStops;
  std::vector<TokenId> stop_ids = {};  ///< end the answer besides the checkpoint's
  std::vector<std::string> stop = {};  ///< end the answer's content before any of these
  std::optional<std::size_t> top_logprobs =
      {};  ///< none = no log-probabilities; else how many others to list
  std::optional<std::size_t> prompt_logprobs = {};  ///< the same for the prompt's tokens
  /// The prompt's embedding is wanted and no answer: the request ends with an Embedding. One choice.
  std::optional<Pooling> pooling = {};
  /// The caches after the prompt are wanted and no answer: the request ends with a PromptState. One choice.
  bool wants_state = false;
  std::optional<std::size_t> thinking_budget = {};  ///< reasoning tokens after which reasoning is closed
  AnswerForm form = AnswerForm::kChat;
  nlohmann::ordered_json tools = nullptr;  ///< declared tools in OpenAI form, or null
  ConstraintFactory constraint = {};       ///< empty = none
  std::size_t draft_tokens = 0;            ///< guess at most that many tokens ahead; changes no result
  DraftRule draft_rule = DraftRule::kAdaptive;
  DraftSource draft_source = {};                                ///< empty = repetitions in the text itself
  int priority = 0;                                             ///< higher first
  std::optional<std::chrono::milliseconds> timeout = {};        ///< from submission to the end
  std::optional<std::chrono::milliseconds> queue_timeout = {};  ///< from submission to the start
  /// Where later requests may part from this one: after the system part, after the last user turn.
  std::vector<PrefixCheckpoint> checkpoints = {};
  PrefixUse prefix = {};
};

}  // namespace lanner::engine
