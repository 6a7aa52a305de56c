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
  /// Nodes of a trie, the last one excluded.
  struct Range {
    std::uint32_t begin, end;
  };
  /// Allowed as a whole: tokens that the leaf can read to their end. Plain tokens of up to `plain`
  /// characters, those of `class_nodes` of the vocabulary's class trie, and those of `tokens` or `dense`.
  std::size_t plain = 0;
  std::vector<Range> class_nodes;
  std::vector<TokenId> tokens;
  std::vector<std::uint64_t> dense;  ///< A mask, used instead of a long list.
  /// Nodes of the vocabulary's tries behind which the leaf may be complete and a token goes on that was not
  /// allowed yet.
  std::vector<std::uint32_t> class_exits, plain_exits, rest_exits;

  bool has_exits() const { return !class_exits.empty() || !plain_exits.empty() || !rest_exits.empty(); }
  void add_to(std::span<std::uint64_t> mask, const GrammarVocabulary& vocabulary) const;
  std::size_t memory_bytes() const;
};

/// Leaf masks by state.
class LeafMasks {
 public:
  LeafMasks(const GrammarVocabulary& vocabulary, LeafAutomata& leaves)
      : vocabulary_(vocabulary), leaves_(leaves) {}

  /// `state`: no literal.
  const LeafMask& of(LeafState state);

  /// One of many literal texts that may come, such as the names of an object's properties.
  struct Literal {
    LeafState state = 0;
    std::uint32_t item = 0;  ///< Whatever the caller tells them apart by.
  };
  /// A node of a trie behind which `item` may be complete while a token goes on.
  struct Exit {
    std::uint32_t item = 0, node = 0;
  };
  /// Allows the trie's tokens that begin one of the literals, or read it and more of its leaf to their end.
  /// All literals share one walk, so those with a common beginning cost little.
  std::vector<Exit> add_literals(std::vector<Literal> literals, const TokenTrie& trie,
                                 std::span<std::uint64_t> mask);
  std::size_t memory_bytes() const { return memory_bytes_; }

 private:
  void walk_literals(std::vector<Literal> literals, const TokenTrie& trie, std::uint32_t first,
                     std::uint32_t last, std::span<std::uint64_t> mask, std::vector<Exit>& exits);
  void leave_literal(const Literal& after, const TokenTrie& trie, std::uint32_t node,
                     std::span<std::uint64_t> mask, std::vector<Exit>& exits);
  std::unique_ptr<LeafMask> compute(LeafState state);
  /// How many plain characters any plain token may have; nothing when plain tokens must be looked at.
  std::optional<std::size_t> plain_characters(LeafState state);
  /// Adds the plain tokens that the leaf reads to their end by the classes of their characters, and the
  /// exits; notes in open_ where the leaf tells the characters of a class apart.
  void walk_classes(LeafState state, LeafMask& mask);
  /// Adds what walk_classes() left open.
  void walk_open(LeafMask& mask);
  /// Adds the tokens that are not plain.
  void walk_rest(LeafState state, LeafMask& mask);
  /// Adds the tokens that the leaf reads to their end in the nodes first..last, last excluded, and the exits.
  /// path_ leads to the first.
  void walk(const TokenTrie& trie, std::uint32_t first, std::uint32_t last, LeafMask& mask,
            std::vector<std::uint32_t>& exits);
  void allow(const TokenTrie& trie, std::uint32_t node, LeafMask& mask);

  const GrammarVocabulary& vocabulary_;
  LeafAutomata& leaves_;
  std::unordered_map<LeafState, const LeafMask*> by_state_;
  std::unordered_map<LeafState, std::unique_ptr<LeafMask>> masks_;  ///< By representative state.
  std::vector<LeafState> path_;
  std::vector<LeafMask::Range> allowed_;  ///< Of one walk, ascending.
  /// A node of the plain trie whose subtree must be walked, and the state before its byte.
  struct Open {
    std::uint32_t node;
    LeafState state;
  };
  std::vector<Open> open_;
  std::size_t memory_bytes_ = 0;
};

}  // namespace lanner::text::grammar
