// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/grammar/byte_set.h"
#include "text/grammar/terms.h"

namespace lanner::text::grammar {

/// A state of any leaf's automaton.
using LeafState = std::uint32_t;

/// Deterministic automata of a grammar's regular languages, made while they run.
class LeafAutomata {
 public:
  static constexpr LeafState kDead = 0;

  LeafAutomata(Terms terms, const std::vector<TermId>& leaves);

  LeafState start(std::uint32_t leaf) const { return starts_[leaf]; }
  LeafState step(LeafState state, std::uint8_t byte) {
    const State& from = states_[state];
    const LeafState next = transitions_[from.transitions + class_of_[from.leaf][byte]];
    return next != kUnknown ? next : find_step(state, byte);
  }
  /// The text read so far is complete.
  bool accepts(LeafState state) const { return states_[state].accepts; }
  /// Bytes that may come.
  const ByteSet& next_bytes(LeafState state);
  /// A state with the same mask as `state` for tokens of at most `max_bytes` bytes: see Terms::within().
  LeafState representative(LeafState state, std::uint32_t max_bytes);

  /// Where any plain character (see GrammarVocabulary) leads; nothing when it depends on the character.
  struct PlainStep {
    LeafState next = kDead;
    bool accepts_inside = false;  ///< A text may be complete in the middle of a character.
  };
  std::optional<PlainStep> plain_step(LeafState state);

  /// Every plain text leads from the state back to it.
  bool keeps_plain(LeafState state);

  std::size_t memory_bytes() const;

 private:
  static constexpr LeafState kUnknown = ~LeafState{0};
  struct State {
    TermId term = 0;
    std::uint32_t leaf = 0;
    std::uint32_t transitions = 0;
    bool accepts = false;
    std::optional<bool> keeps_plain = std::nullopt;
  };

  LeafState state_of(std::uint32_t leaf, TermId term);
  LeafState find_step(LeafState state, std::uint8_t byte);
  void add_leaf(TermId term);

  Terms terms_;
  std::vector<State> states_;
  std::vector<LeafState> transitions_;
  std::vector<std::array<std::uint8_t, ByteSet::kByteValues>> class_of_;  ///< By leaf.
  std::vector<std::uint32_t> class_count_;
  std::vector<std::vector<std::uint8_t>> representatives_;  ///< By leaf: one byte of each class.
  std::vector<LeafState> starts_;
  std::unordered_map<std::uint64_t, LeafState> known_;  ///< By leaf and term.
  std::unordered_map<LeafState, ByteSet> next_bytes_;
};

}  // namespace lanner::text::grammar
