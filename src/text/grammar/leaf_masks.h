// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "text/grammar/leaf_automata.h"
#include "text/grammar/vocabulary.h"

namespace lanner::text::grammar {

/// The part of a mask that a leaf's state decides by itself, whatever rules surround it; computed once.
struct LeafMask {
  /// Allowed as a whole: tokens that the leaf can read to their end. Plain tokens of up to `plain`
  /// characters, and those of `tokens` or `dense`.
  std::size_t plain = 0;
  std::vector<TokenId> tokens;
  std::vector<std::uint64_t> dense;  ///< A mask, used instead of a long list.
  /// Nodes of the vocabulary's tries behind which the leaf may be complete and a token goes on that was not
  /// allowed yet.
  std::vector<std::uint32_t> plain_exits, rest_exits;

  void add_to(std::span<std::uint64_t> mask, const GrammarVocabulary& vocabulary) const;
};

/// Leaf masks by state.
class LeafMasks {
 public:
  LeafMasks(const GrammarVocabulary& vocabulary, LeafAutomata& leaves)
      : vocabulary_(vocabulary), leaves_(leaves) {}

  const LeafMask& of(LeafState state);
  std::size_t memory_bytes() const { return memory_bytes_; }

 private:
  struct Range {
    std::uint32_t begin, end;  ///< Nodes.
  };

  std::unique_ptr<LeafMask> compute(LeafState state);
  /// How many plain characters any plain token may have; nothing when plain tokens must be looked at singly.
  std::optional<std::size_t> plain_characters(LeafState state);
  /// Adds the tokens of one trie that the leaf reads to their end, and the exits.
  void walk(LeafState state, const TokenTrie& trie, LeafMask& mask, std::vector<std::uint32_t>& exits);
  void allow(const TokenTrie& trie, std::uint32_t first, std::uint32_t last, LeafMask& mask);
  void drop_needless(const TokenTrie& trie, std::vector<std::uint32_t>& exits) const;

  const GrammarVocabulary& vocabulary_;
  LeafAutomata& leaves_;
  std::unordered_map<LeafState, const LeafMask*> by_state_;
  std::unordered_map<LeafState, std::unique_ptr<LeafMask>> masks_;  ///< By representative state.
  std::vector<LeafState> path_;
  std::vector<Range> allowed_;  ///< Of one walk, ascending.
  std::size_t memory_bytes_ = 0;
};

}  // namespace lanner::text::grammar
