// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/grammar/byte_set.h"
#include "text/grammar/plain_classes.h"
#include "text/grammar/terms.h"

namespace lanner::text::grammar {

/// A state of any leaf's automaton.
using LeafState = std::uint32_t;

/// Deterministic automata of a grammar's regular languages, made while they run.
class LeafAutomata {
 public:
  static constexpr LeafState kDead = 0;

  LeafAutomata(Terms terms, std::vector<TermId> leaves);

  LeafState start(std::uint32_t leaf) { return starts_[leaf] != kUnknown ? starts_[leaf] : find_start(leaf); }
  LeafState step(LeafState state, std::uint8_t byte) {
    const State& from = states_[state];
    const LeafState next = transitions_[from.transitions + class_of_[from.automaton][byte]];
    return next != kUnknown ? next : find_step(state, byte);
  }
  /// The text read so far is complete.
  bool accepts(LeafState state) const { return states_[state].accepts; }
  /// Bytes that may come.
  const ByteSet& next_bytes(LeafState state);
  /// A state with the same mask as `state` for tokens of at most `max_bytes` bytes: see Terms::within().
  LeafState representative(LeafState state, std::uint32_t max_bytes);

  /// Where the plain characters of most classes lead, all to one state; kDead when all are refused.
  struct PlainStep {
    PlainClasses classes = 0;
    LeafState next = kDead;
    bool accepts_inside = false;  ///< A text may be complete in the middle of one of these characters.
  };
  const PlainStep& plain_step(LeafState state) {
    const std::uint32_t known = states_[state].plain_step;
    return known != kUnknown ? plain_steps_[known] : find_plain_step(state);
  }
  /// Whether any `characters` characters of the classes can be read from the state, one after another.
  bool reads_plain(LeafState state, PlainClasses classes, std::size_t characters);

  std::size_t memory_bytes() const;

 private:
  static constexpr LeafState kUnknown = ~LeafState{0};
  struct State {
    TermId term = 0;
    std::uint32_t automaton = 0;
    std::uint32_t transitions = 0;
    std::uint32_t plain_step = kUnknown;  ///< Index into plain_steps_.
    bool accepts = false;
  };

  LeafState state_of(std::uint32_t automaton, TermId term);
  LeafState find_step(LeafState state, std::uint8_t byte);
  LeafState find_start(std::uint32_t leaf);
  const PlainStep& find_plain_step(LeafState state);
  PlainStep step_beyond_ascii(LeafState state);

  Terms terms_;
  std::vector<TermId> leaves_;
  std::vector<State> states_;
  std::vector<PlainStep> plain_steps_;
  std::vector<LeafState> transitions_;
  std::vector<std::array<std::uint8_t, ByteSet::kByteValues>> class_of_;  ///< By automaton.
  std::vector<std::uint32_t> class_count_;
  std::vector<std::vector<std::uint8_t>> representatives_;  ///< By automaton: one byte of each class.
  std::vector<LeafState> starts_;                           ///< By leaf.
  std::unordered_map<std::uint64_t, LeafState> known_;      ///< By automaton and term.
  std::unordered_map<LeafState, ByteSet> next_bytes_;
};

}  // namespace lanner::text::grammar
