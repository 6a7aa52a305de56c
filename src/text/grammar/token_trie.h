// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/token.h"

namespace lanner::text::grammar {

/// A token and the bytes it adds to text.
struct TokenBytes {
  TokenId id = 0;
  std::string bytes;  ///< Not empty.
};

/// Tokens as a tree of their bytes, its nodes in depth-first order.
class TokenTrie {
 public:
  static constexpr TokenId kNoToken = -1;

  struct Node {
    std::uint32_t end = 0;     ///< The node after this one's subtree.
    TokenId token = kNoToken;  ///< A token that ends here.
    std::uint16_t depth = 0;   ///< Bytes from the root; the first bytes have depth 1.
    std::uint8_t byte = 0;
    bool has_namesakes = false;  ///< More tokens end here: see namesakes().
  };

  TokenTrie() = default;
  explicit TokenTrie(std::vector<TokenBytes> tokens);

  /// Without a root: the roots of the tree are the nodes of depth 1.
  std::span<const Node> nodes() const { return nodes_; }
  /// How many tokens end in the nodes before `node`.
  std::uint32_t tokens_before(std::size_t node) const { return tokens_before_[node]; }
  /// The tokens that end in the nodes first..last, last excluded, but for namesakes.
  std::span<const TokenId> tokens(std::size_t first, std::size_t last) const {
    return std::span(tokens_).subspan(tokens_before_[first], tokens_before_[last] - tokens_before_[first]);
  }
  /// Tokens that have the same bytes as one of tokens().
  struct Namesake {
    std::uint32_t node;
    TokenId token;
  };
  /// Those that end in the nodes first..last.
  std::span<const Namesake> namesakes(std::size_t first, std::size_t last) const;
  std::size_t max_depth() const { return max_depth_; }

 private:
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> tokens_before_;  ///< One more than nodes.
  std::vector<TokenId> tokens_;               ///< By node.
  std::vector<Namesake> namesakes_;           ///< By node.
  std::size_t max_depth_ = 0;
};

}  // namespace lanner::text::grammar
