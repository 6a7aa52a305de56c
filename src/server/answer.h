// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/event.h"
#include "server/generation_fields.h"

namespace lanner::server {

/// What an answer is told about its request.
struct AnswerFacts {
  std::string id = {};     ///< "chatcmpl-..."
  std::string model = {};  ///< as echoed
  std::string fingerprint = {};
  std::int64_t created = 0;  ///< seconds since 1970
  std::uint64_t seed = 0;
  std::string adapter = {};                     ///< as it was chosen; empty = none
  std::vector<std::size_t> prompt_tokens = {};  ///< of each prompt
  bool include_stop = false;
  bool log_all_tokens = false;
  bool exclude_reasoning = false;
  Delivery delivery = Delivery::kWhole;
  std::vector<TokenId> stop_ids = {};  ///< the request's own
};

/// A call of a tool in an answer.
struct AnswerCall {
  std::string id;
  std::string name;
  std::string arguments;  ///< JSON text
  bool complete = false;
};

/// A part of an answer between two of other kinds.
struct AnswerBlock {
  enum class Kind : std::uint8_t { kReasoning, kContent, kCall };
  Kind kind = Kind::kContent;
  std::string text = {};                             ///< of thoughts or content
  std::size_t call = 0;                              ///< which of the choice's
  std::size_t logprobs_begin = 0, logprobs_end = 0;  ///< of content: which of the choice's
};

/// One choice of an answer, as far as it is known.
struct AnswerChoice {
  std::string reasoning;
  std::string content;
  std::vector<AnswerCall> calls;    ///< also incomplete ones
  std::vector<AnswerBlock> blocks;  ///< all that is shown, in the order it came
  std::vector<engine::LogprobEntry> logprobs;
  std::vector<TokenId> tokens;
  std::optional<engine::ChoiceEnd> end;

  std::size_t complete_calls() const;
  /// "stop", "length" or "tool_calls". The choice must have ended.
  const char* finish_reason() const;
};

/// Makes the choice of an event of a request count over all prompts, of which `first` choices come before.
void count_over_prompts(engine::Event& event, std::size_t first);

/// An answer put together from the engine's events, for one or several prompts.
class Answer {
 public:
  explicit Answer(AnswerFacts facts);

  /// `prompt`: which of the prompts the event belongs to; `choice` of the event counts over all prompts, see
  /// count_over_prompts().
  void add(const engine::Event& event, std::size_t prompt);

  const AnswerFacts& facts() const { return facts_; }
  const std::vector<AnswerChoice>& choices() const { return choices_; }
  const AnswerChoice& choice(std::size_t index) const { return choices_.at(index); }
  const std::vector<engine::PromptLogprobs>& prompt_logprobs() const { return prompt_logprobs_; }
  /// Of all prompts.
  std::size_t prompt_tokens() const;
  std::size_t cached_tokens() const;
  engine::ChoiceUsage usage() const;
  const engine::Timings& timings() const { return timings_; }
  /// The stop string or the request's own stop id that ended the choice: the text, the id, or neither.
  std::optional<std::string> stop_text(std::size_t choice) const;
  std::optional<TokenId> stop_id(std::size_t choice) const;
  /// Whether a token's likelihood is listed.
  bool lists(const engine::TokenEvent& event) const;

 private:
  AnswerChoice& at(std::size_t choice);
  void add_text(AnswerChoice& choice, std::size_t index, const text::OutputEvent& event);
  static void add_content(AnswerChoice& choice, const std::string& text);

  AnswerFacts facts_;
  std::vector<AnswerChoice> choices_;
  std::vector<engine::PromptLogprobs> prompt_logprobs_;
  std::vector<std::size_t> cached_;
  engine::Timings timings_;
};

}  // namespace lanner::server
