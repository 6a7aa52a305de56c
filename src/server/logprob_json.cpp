// SPDX-License-Identifier: MIT
#include "server/logprob_json.h"

#include <algorithm>
#include <cmath>

#include "text/unicode.h"

namespace lanner::server {
namespace {

/// JSON has no infinity.
constexpr double kImpossible = -9999.0;

Json finite_logprob(float logprob) { return std::isfinite(logprob) ? double(logprob) : kImpossible; }

Json token_json(const engine::TokenLogprob& token, const text::Tokenizer& tokenizer) {
  const std::string bytes = tokenizer.token_bytes(token.id);
  Json values = Json::array();
  for (const char byte : bytes) values.push_back(static_cast<unsigned char>(byte));
  return {{"token", text::to_valid_utf8(bytes)},
          {"logprob", finite_logprob(token.logprob)},
          {"bytes", std::move(values)},
          {"id", token.id}};
}

}  // namespace

Json logprob_entry_json(const engine::LogprobEntry& entry, const text::Tokenizer& tokenizer) {
  Json json = token_json(entry.token, tokenizer);
  Json top = Json::array();
  for (const engine::TokenLogprob& other : entry.top) top.push_back(token_json(other, tokenizer));
  json["top_logprobs"] = std::move(top);
  return json;
}

Json logprob_entries_json(std::span<const engine::LogprobEntry> entries, const text::Tokenizer& tokenizer) {
  Json list = Json::array();
  for (const engine::LogprobEntry& entry : entries) list.push_back(logprob_entry_json(entry, tokenizer));
  return list;
}

Json prompt_logprobs_json(const engine::PromptLogprobs& scores, const text::Tokenizer& tokenizer) {
  Json list(std::max<std::size_t>(scores.first, 1), nullptr);
  for (const engine::LogprobEntry& entry : scores.entries)
    list.push_back(logprob_entry_json(entry, tokenizer));
  return list;
}

void LegacyLogprobs::add_token(TokenId id) {
  const std::string bytes = tokenizer_->token_bytes(id);
  tokens_.push_back(text::to_valid_utf8(bytes));
  offsets_.push_back(offset_);
  offset_ += bytes.size();
}

void LegacyLogprobs::add_unscored(TokenId id) {
  add_token(id);
  scores_.push_back(nullptr);
  tops_.push_back(nullptr);
}

void LegacyLogprobs::add(const engine::LogprobEntry& entry) {
  add_token(entry.token.id);
  scores_.push_back(finite_logprob(entry.token.logprob));
  Json top = Json::object();
  for (const engine::TokenLogprob& other : entry.top)
    top[text::to_valid_utf8(tokenizer_->token_bytes(other.id))] = finite_logprob(other.logprob);
  tops_.push_back(std::move(top));
}

Json LegacyLogprobs::take() {
  return {{"tokens", std::exchange(tokens_, Json::array())},
          {"token_logprobs", std::exchange(scores_, Json::array())},
          {"top_logprobs", std::exchange(tops_, Json::array())},
          {"text_offset", std::exchange(offsets_, Json::array())}};
}

}  // namespace lanner::server
