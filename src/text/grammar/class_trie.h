// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/token.h"
#include "text/grammar/plain_classes.h"
#include "text/grammar/token_trie.h"

namespace lanner::text::grammar {

/// Plain tokens as a tree over the classes of their characters, its nodes in depth-first order: all words of
/// five small letters are one node. Some 6000 nodes stand for 260000 tokens.
class ClassTrie {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Node {
    PlainClasses below = 0;             ///< Classes of the characters that follow.
    std::uint32_t end = 0;              ///< The node after this one's subtree.
    std::uint8_t depth = 0;             ///< Characters from the root; the first ones have depth 1.
    std::uint8_t its_class = 0;         ///< Of its last character.
    std::uint8_t characters_below = 0;  ///< Of the longest token below, behind this node.
  };

  ClassTrie() = default;
  /// `plain`: a trie of plain tokens only. `vocabulary_size`: highest id + 1.
  ClassTrie(const TokenTrie& plain, std::size_t vocabulary_size);

  std::span<const Node> nodes() const { return nodes_; }
  /// How many tokens end in the nodes before `node`.
  std::uint32_t tokens_before(std::size_t node) const { return tokens_before_[node]; }
  /// Nodes of the plain trie where the last character of this node's texts begins.
  std::span<const std::uint32_t> entries(std::size_t node) const {
    return std::span(entries_).subspan(entries_before_[node],
                                       entries_before_[node + 1] - entries_before_[node]);
  }
  /// Allows the tokens that end in the nodes first..last, last excluded.
  void add_to(std::span<std::uint64_t> mask, std::uint32_t first, std::uint32_t last) const;

 private:
  struct Draft;
  std::vector<std::uint32_t> number(const Draft& draft);
  void collect_tokens(const TokenTrie& plain, std::span<const std::uint32_t> node_at);
  void collect_entries(const TokenTrie& plain, std::span<const std::uint32_t> node_at);
  void fill_dense(std::size_t vocabulary_size);

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> tokens_before_, entries_before_;  ///< One more than nodes.
  std::vector<TokenId> tokens_;                                ///< By node.
  std::vector<std::uint32_t> entries_;                         ///< By node.
  std::vector<std::uint32_t> dense_at_;                        ///< By node: where in dense_, or kNone.
  std::vector<std::uint64_t> dense_;                           ///< Masks of nodes with many tokens.
  std::size_t words_ = 0;                                      ///< Of one mask.
};

}  // namespace lanner::text::grammar
