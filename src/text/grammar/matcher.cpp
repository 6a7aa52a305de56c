// SPDX-License-Identifier: MIT
#include "text/grammar/matcher.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "text/grammar/machine.h"
#include "text/grammar/token_mask.h"

namespace lanner::text::grammar {

Matcher::Matcher(std::shared_ptr<const Grammar> grammar)
    : grammar_(std::move(grammar)), machine_(grammar_->fresh_machine()), states_{machine_->start()} {}

void Matcher::fill_mask(std::span<std::uint64_t> mask, WorkDeadline until) const {
  const std::size_t words = mask_words(grammar_->vocabulary().size());
  if (mask.size() < words)
    throw Error(ErrorKind::kInternal,
                fmt::format("a token mask has {} words, expected {}", mask.size(), words));
  std::ranges::fill(mask.subspan(words), std::uint64_t{0});
  mask = mask.first(words);
  if (!is_terminated()) return machine_->fill_mask(states_.back(), mask, until);
  std::ranges::fill(mask, std::uint64_t{0});
  for (const TokenId stop : grammar_->vocabulary().stop_ids()) allow_token(mask, stop);
}

std::uint32_t Matcher::next_state(TokenId token, WorkDeadline until) const {
  const bool stops = grammar_->vocabulary().is_stop(token);
  if (is_terminated()) return stops ? kTerminated : ParseStates::kDead;
  if (!stops) return machine_->step_token(states_.back(), token, until);
  return machine_->accepts(states_.back(), until) ? kTerminated : ParseStates::kDead;
}

bool Matcher::allows(TokenId token) const { return next_state(token) != ParseStates::kDead; }

bool Matcher::accept(TokenId token, WorkDeadline until) {
  const std::uint32_t next = next_state(token, until);
  if (next == ParseStates::kDead) return false;
  states_.push_back(next);
  return true;
}

void Matcher::rollback(std::size_t tokens) {
  if (tokens > size())
    throw Error(ErrorKind::kInternal,
                fmt::format("a matcher that accepted {} tokens cannot take back {}", size(), tokens));
  states_.resize(states_.size() - tokens);
}

bool Matcher::can_end() const { return is_terminated() || machine_->accepts(states_.back()); }

bool Matcher::is_terminated() const { return states_.back() == kTerminated; }

std::string Matcher::forced_text(std::size_t max_bytes, WorkDeadline until) const {
  return is_terminated() ? std::string() : machine_->forced_text(states_.back(), max_bytes, until);
}

}  // namespace lanner::text::grammar
