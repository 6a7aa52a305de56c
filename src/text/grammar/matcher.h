// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/token.h"
#include "text/grammar/grammar.h"
#include "text/grammar/work.h"

namespace lanner::text::grammar {

/// Follows one sequence's tokens through a grammar. Cheap to copy; what it allows is a pure function of the
/// tokens accepted. One thread at a time; matchers of one grammar may run on different threads. Calls with a
/// deadline throw GrammarLate behind it, with nothing changed.
class Matcher {
 public:
  static constexpr std::size_t kMaxForcedBytes = 1024;

  explicit Matcher(std::shared_ptr<const Grammar> grammar);

  /// `mask`: mask_words(vocabulary().size()) words, or more; bit i % 64 of word i / 64 becomes 1 when token i
  /// may come next and 0 otherwise. Stop tokens may come exactly where the grammar may end; at least one
  /// token always may.
  void fill_mask(std::span<std::uint64_t> mask, WorkDeadline until = {}) const;
  /// Whether fill_mask() would allow the token, without the mask.
  bool allows(TokenId token) const;
  /// Takes the token. False, with nothing changed, when it may not come.
  bool accept(TokenId token, WorkDeadline until = {});
  /// Takes back the last `tokens` accepted tokens. Throws Error kInternal when there are fewer.
  void rollback(std::size_t tokens);
  /// Tokens accepted and not taken back.
  std::size_t size() const { return states_.size() - 1; }

  /// The grammar may end here.
  bool can_end() const;
  /// A stop token was accepted: only stop tokens are allowed from here on.
  bool is_terminated() const;
  /// The text that must come next whatever is sampled, up to where there is a choice again or the answer may
  /// end; at most `max_bytes`. Empty when the next byte is open or a marker may come.
  std::string forced_text(std::size_t max_bytes = kMaxForcedBytes, WorkDeadline until = {}) const;

  const Grammar& grammar() const { return *grammar_; }

 private:
  static constexpr std::uint32_t kTerminated = ~std::uint32_t{0};
  std::uint32_t next_state(TokenId token, WorkDeadline until = {}) const;

  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<Machine> machine_;
  std::vector<std::uint32_t> states_;  ///< One per accepted token and the start.
};

}  // namespace lanner::text::grammar
