// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "engine/event.h"
#include "server/json_body.h"
#include "text/tokenizer.h"

namespace lanner::server {

/// {token, logprob, bytes, id} and top_logprobs: an entry of a chat answer's logprobs.content.
Json logprob_entry_json(const engine::LogprobEntry& entry, const text::Tokenizer& tokenizer);
Json logprob_entries_json(std::span<const engine::LogprobEntry> entries, const text::Tokenizer& tokenizer);
/// The entries of a prompt, null for tokens without one: prompt_logprobs of whole answers.
Json prompt_logprobs_json(const engine::PromptLogprobs& scores, const text::Tokenizer& tokenizer);

/// {tokens, token_logprobs, top_logprobs, text_offset}: the older form of /v1/completions, where offsets
/// count bytes of the text. take() hands out what came since the last time.
class LegacyLogprobs {
 public:
  explicit LegacyLogprobs(const text::Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}
  void add_unscored(TokenId id);
  void add(const engine::LogprobEntry& entry);
  Json take();

 private:
  void add_token(TokenId id);

  const text::Tokenizer* tokenizer_;
  std::size_t offset_ = 0;
  Json tokens_ = Json::array(), scores_ = Json::array(), tops_ = Json::array(), offsets_ = Json::array();
};

}  // namespace lanner::server
