// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cache/checkpoint.h"
#include "core/token.h"

namespace lanner::cache {

/// A node of a PrefixTree: the tokens from its parent to it, and perhaps a checkpoint after the last of them.
struct PrefixNode {
  PrefixNode* parent = nullptr;  ///< none = the root
  std::vector<TokenId> edge;     ///< empty only in the root
  std::size_t length = 0;        ///< tokens from the root to this node's end
  std::map<TokenId, std::unique_ptr<PrefixNode>> children;
  std::optional<Checkpoint> checkpoint;
};

/// A radix tree over token ids with checkpoints at its nodes. Every leaf has a checkpoint.
class PrefixTree {
 public:
  /// How far ids agree with the tree.
  struct Match {
    std::size_t length = 0;         ///< tokens in common with some path from the root
    std::vector<PrefixNode*> path;  ///< nodes that end inside those tokens, the root first
    PrefixNode* below = nullptr;  ///< the node whose subtree holds everything that shares all `length` tokens
  };

  Match match(std::span<const TokenId> ids);
  /// The node at the end of ids, made if need be. It must be given a checkpoint.
  PrefixNode& node_at(std::span<const TokenId> ids);
  /// Removes what has become useless after a node lost its checkpoint.
  void prune(PrefixNode& node);
  bool empty() const { return root_.children.empty() && !root_.checkpoint; }

 private:
  PrefixNode root_;
};

}  // namespace lanner::cache
