// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "text/grammar/leaf_automata.h"
#include "text/grammar/leaf_masks.h"
#include "text/grammar/parse_states.h"
#include "text/grammar/program.h"
#include "text/grammar/vocabulary.h"

namespace lanner::text::grammar {

/// What a machine may remember.
inline constexpr std::size_t kMaxMachineBytes = std::size_t{256} << 20;

/// A program at work: states and masks found so far, shared by all matchers that started with it. Safe to use
/// from many threads. GrammarLimit is thrown for a question (a token's step, a mask, a forced text) that
/// would take a machine that knows nothing more than kTokenWork, whatever this one knows: see Work. Behind a
/// deadline, also one that passes while another thread is at work, GrammarLate is thrown.
class Machine {
 public:
  Machine(std::shared_ptr<const Program> program, std::shared_ptr<const GrammarVocabulary> vocabulary);

  ParseState start() const { return parse_.start(); }
  /// kDead when the token cannot come. `token` is no stop token.
  ParseState step_token(ParseState state, TokenId token, WorkDeadline until);
  /// The same for a token that was taken before, on a machine that was full: no limit but the deadline.
  ParseState step_again(ParseState state, TokenId token, WorkDeadline until);
  /// As much work as `work` has left may be done for it.
  ParseState step_text(ParseState state, std::string_view text, Work& work);
  bool accepts(ParseState state, WorkDeadline until = {});
  /// Sets the bits of all tokens that may come, stop tokens included, and clears the others.
  void fill_mask(ParseState state, std::span<std::uint64_t> mask, WorkDeadline until);
  /// The text that must come, at most `max_bytes` of it.
  std::string forced_text(ParseState state, std::size_t max_bytes, WorkDeadline until);
  std::size_t memory_bytes();
  /// It remembers as much as one may: its matchers must go on with a fresh one.
  bool is_full() const { return is_full_; }
  /// It knows so much that new matchers do better with a fresh one.
  bool is_worn();

 private:
  static std::shared_ptr<Work> first_question();
  std::unique_lock<std::mutex> lock(const WorkDeadline& until);
  /// What `find` finds, when a machine that knows nothing finds it within kTokenWork.
  template <typename Find>
  auto answer(const WorkDeadline& until, const Find& find);
  ParseState find_step(ParseState state, TokenId token);
  std::string find_forced(ParseState state, std::size_t max_bytes);
  void note_fill() {
    if (remembered_bytes() > kMaxMachineBytes || work_->question() > kAlwaysKnown / 2) is_full_ = true;
  }
  std::size_t remembered_bytes() const;
  void compute_mask(ParseState state, std::span<std::uint64_t> mask);
  void add_exits(const TokenTrie& trie, std::span<const std::uint32_t> exits, ParseState behind,
                 std::span<std::uint64_t> mask);
  void add_class_exits(std::span<const std::uint32_t> exits, ParseState behind,
                       std::span<std::uint64_t> mask);
  void add_subtree(const TokenTrie& trie, std::uint32_t root, ParseState state,
                   std::span<std::uint64_t> mask);
  void add_markers(ParseState state, std::span<std::uint64_t> mask);
  const ByteSet& next_bytes(ParseState state);

  std::mutex mutex_;
  std::shared_ptr<Work> work_ = first_question();
  std::shared_ptr<const Program> program_;
  std::shared_ptr<const GrammarVocabulary> vocabulary_;
  LeafAutomata leaves_;
  ParseStates parse_;
  LeafMasks leaf_masks_;
  std::unordered_map<ParseState, std::vector<std::uint64_t>> masks_;
  struct NextBytes {
    ByteSet bytes;
    Finding finding;
  };
  std::unordered_map<ParseState, NextBytes> next_bytes_;
  std::unordered_map<std::uint64_t, ParseState> cold_steps_;  ///< By state and token: took a cold question.
  std::vector<ParseState> path_;
  std::atomic<bool> is_full_ = false;
  const std::uint64_t fresh_work_;
  const std::size_t fresh_bytes_;  ///< Of a machine that was asked nothing yet.
};

}  // namespace lanner::text::grammar
