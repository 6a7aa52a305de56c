// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

#include "text/grammar/grammar_source.h"
#include "text/grammar/vocabulary.h"

namespace lanner::text::grammar {

class Machine;
struct Program;

/// A compiled grammar over a model's vocabulary: keep and share it. Safe to use from many threads.
class Grammar {
 public:
  /// Throws Error kInvalidArgument for a grammar that is not sound: rules without a definition, or no text
  /// that satisfies it; GrammarLimit when the source's work does not suffice.
  Grammar(GrammarSource source, std::shared_ptr<const GrammarVocabulary> vocabulary);
  ~Grammar();

  const GrammarVocabulary& vocabulary() const { return *vocabulary_; }
  /// Whether the whole text satisfies the grammar (one that uses no markers).
  bool accepts(std::string_view text) const;
  /// The same as a part of other work: throws GrammarLimit when too little is left.
  bool accepts(std::string_view text, Work& work) const;
  /// What it takes now: accepts() lets it grow.
  std::size_t memory_bytes() const;

 private:
  friend class Matcher;
  /// What a new matcher works with: its own, so that what it may ask for does not depend on others.
  std::shared_ptr<Machine> fresh_machine() const;
  Machine& machine() const;

  std::shared_ptr<const GrammarVocabulary> vocabulary_;
  std::shared_ptr<const Program> program_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<Machine> machine_;  ///< of accepts(); null before its first call
};

}  // namespace lanner::text::grammar
