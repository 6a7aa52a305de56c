// SPDX-License-Identifier: MIT
#include "engine/grammar_constraint.h"

#include <algorithm>

#include "text/unicode.h"

namespace lanner::engine {

void GrammarConstraint::fill_mask(std::span<std::uint64_t> mask, Deadline until) {
  const std::size_t needed = matcher_.grammar().vocabulary().size() / 64 + 1;
  if (mask.size() >= needed) return matcher_.fill_mask(mask, until);
  words_.resize(needed);
  matcher_.fill_mask(words_, until);
  std::copy_n(words_.begin(), mask.size(), mask.begin());
}

bool GrammarConstraint::accept(TokenId token, Deadline until) {
  if (!matcher_.accept(token, until)) return false;
  accepted_.push_back(token);
  return true;
}

void GrammarConstraint::rollback(std::size_t tokens) {
  matcher_.rollback(tokens);
  accepted_.resize(accepted_.size() - tokens);
}

std::vector<TokenId> GrammarConstraint::forced(Deadline until) {
  const std::string forced = matcher_.forced_text(text::grammar::Matcher::kMaxForcedBytes, until);
  if (forced.empty()) return {};
  const std::string before = accepted_.empty() ? std::string() : tokenizer_.token_bytes(accepted_.back());
  const std::string text = before + forced;
  if (text::find_invalid_utf8(text) != std::string::npos) return {};
  std::vector<TokenId> ids = tokenizer_.encode(text, {.literal = {{0, text.size()}}});
  if (!before.empty()) {
    if (ids.front() != accepted_.back()) return {};
    ids.erase(ids.begin());
  }
  if (!ids.empty()) ids.pop_back();

  text::grammar::Matcher trial = matcher_;
  std::size_t allowed = 0;
  while (allowed < ids.size() && trial.accept(ids[allowed], until)) ++allowed;
  ids.resize(allowed);
  return ids;
}

}  // namespace lanner::engine
