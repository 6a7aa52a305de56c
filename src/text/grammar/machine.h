// SPDX-License-Identifier: MIT
#pragma once

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

/// A program at work: states and masks found so far for one text, by one matcher and its copies. Safe to use
/// from many threads. What a token asks for is bounded by kTokenWork, and what is remembered by
/// kMaxMachineBytes: GrammarLimit is thrown beyond, and after a choice that took too much for all that is not
/// known yet, so that asking again does not change the answer. Behind a deadline, also one that passes while
/// another thread is at work, GrammarLate is thrown.
class Machine {
 public:
  Machine(std::shared_ptr<const Program> program, std::shared_ptr<const GrammarVocabulary> vocabulary);

  ParseState start() const { return parse_.start(); }
  /// kDead when the token cannot come. `token` is no stop token.
  ParseState step_token(ParseState state, TokenId token, WorkDeadline until);
  /// As much work as `work` has left may be done for it.
  ParseState step_text(ParseState state, std::string_view text, Work& work);
  bool accepts(ParseState state, WorkDeadline until = {});
  /// Sets the bits of all tokens that may come, stop tokens included, and clears the others.
  void fill_mask(ParseState state, std::span<std::uint64_t> mask, WorkDeadline until);
  /// The text that must come, at most `max_bytes` of it.
  std::string forced_text(ParseState state, std::size_t max_bytes, WorkDeadline until);
  std::size_t memory_bytes();

 private:
  std::unique_lock<std::mutex> lock(const WorkDeadline& until);
  void begin(std::uint64_t work, WorkDeadline until = {});
  /// Steps of guesses do not count: no answer depends on them.
  template <typename Find>
  void noting_limit(const Find& find);
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
  std::shared_ptr<Work> work_ = std::make_shared<Work>(kTokenWork);
  std::shared_ptr<const Program> program_;
  std::shared_ptr<const GrammarVocabulary> vocabulary_;
  LeafAutomata leaves_;
  ParseStates parse_;
  LeafMasks leaf_masks_;
  std::unordered_map<ParseState, std::vector<std::uint64_t>> masks_;
  std::unordered_map<ParseState, ByteSet> next_bytes_;
  std::vector<ParseState> path_;
  bool is_exhausted_ = false;
};

}  // namespace lanner::text::grammar
