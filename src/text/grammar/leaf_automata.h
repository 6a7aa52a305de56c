// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
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
  static constexpr LeafState kMixed = ~LeafState{1};

  /// What finding states takes counts as `work`.
  LeafAutomata(Terms terms, std::vector<TermId> leaves, std::shared_ptr<Work> work);
  Work& work() const { return terms_.work(); }

  LeafState start(std::uint32_t leaf) { return starts_[leaf] != kUnknown ? starts_[leaf] : find_start(leaf); }
  LeafState step(LeafState state, std::uint8_t byte) {
    const State& from = states_[state];
    if (from.automaton == kLiteral) return byte == from.byte ? literal_step(state) : kDead;
    const LeafState next = transitions_[from.transitions + class_of_[from.automaton][byte]];
    return next != kUnknown ? next : find_step(state, byte);
  }
  /// The text read so far is complete.
  bool accepts(LeafState state) const { return states_[state].accepts; }
  /// Texts begin with one certain byte here: see next_byte().
  bool is_literal(LeafState state) const { return states_[state].automaton == kLiteral; }
  std::uint8_t next_byte(LeafState literal) const { return states_[literal].byte; }
  /// Adds the bytes that may come.
  void add_next_bytes(LeafState state, ByteSet& set);
  /// A state with the same mask as `state` for tokens of at most `max_bytes` bytes: see Terms::within().
  LeafState representative(LeafState state, std::uint32_t max_bytes);

  /// Where every character of a plain class leads: kDead when all are refused, kMixed when that depends on
  /// the character or when a text may be complete in the middle of one.
  LeafState class_step(LeafState state, std::uint8_t plain_class) {
    if (plain_class >= kSpreadClasses) return step(state, kClassByte[plain_class]);
    const std::uint32_t known = states_[state].spread;
    const LeafState next = known != kUnknown ? spread_steps_[known][plain_class] : kUnknown;
    return next != kUnknown ? next : find_class_step(state, plain_class);
  }

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
  using SpreadSteps = std::array<LeafState, kSpreadClasses>;
  struct State {
    TermId term = 0;  ///< Of a literal what follows its byte.
    std::uint32_t automaton = 0;
    std::uint32_t transitions = 0;        ///< Index of the first; of a literal the state behind its byte.
    std::uint32_t plain_step = kUnknown;  ///< Index into plain_steps_.
    std::uint32_t spread = kUnknown;      ///< Index into spread_steps_.
    std::uint8_t byte = 0;                ///< Of a literal.
    bool accepts = false;
  };
  /// The automaton of all literal texts: its states have one transition and are shared by all leaves.
  static constexpr std::uint32_t kLiteral = 1;

  LeafState start_of(TermId term);
  LeafState literal_step(LeafState state) {
    const LeafState next = states_[state].transitions;
    return next != kUnknown ? next : find_literal_step(state);
  }
  LeafState find_literal_step(LeafState state);
  LeafState literal_state(TermId term, const Terms::Spelled& spelled);
  LeafState add_state(const State& state);
  LeafState state_of(std::uint32_t automaton, TermId term);
  LeafState find_step(LeafState state, std::uint8_t byte);
  LeafState find_start(std::uint32_t leaf);
  const PlainStep& find_plain_step(LeafState state);
  LeafState find_class_step(LeafState state, std::uint8_t plain_class);
  LeafState step_all(LeafState state, std::uint8_t first, std::uint8_t last);
  PlainStep step_beyond_ascii(LeafState state);

  Terms terms_;
  std::vector<TermId> leaves_;
  std::vector<State> states_;
  std::vector<PlainStep> plain_steps_;
  std::vector<SpreadSteps> spread_steps_;
  std::vector<LeafState> transitions_;
  std::vector<std::array<std::uint8_t, ByteSet::kByteValues>> class_of_;  ///< By automaton.
  std::vector<std::uint32_t> class_count_;
  std::vector<std::vector<std::uint8_t>> representatives_;  ///< By automaton: one byte of each class.
  std::vector<LeafState> starts_;                           ///< By leaf.
  std::unordered_map<std::uint64_t, LeafState> known_;      ///< By automaton and term.
  std::vector<LeafState> literals_;                         ///< By term.
  std::unordered_map<TermId, std::uint32_t> automata_;      ///< By the term that they begin with.
  std::unordered_map<LeafState, ByteSet> next_bytes_;
};

}  // namespace lanner::text::grammar
