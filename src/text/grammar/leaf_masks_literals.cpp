// SPDX-License-Identifier: MIT
#include <algorithm>

#include "text/grammar/leaf_masks.h"

namespace lanner::text::grammar {

std::vector<LeafMasks::Exit> LeafMasks::add_literals(std::vector<Literal> literals, const TokenTrie& trie,
                                                     std::span<std::uint64_t> mask) {
  std::vector<Exit> exits;
  if (literals.empty()) return exits;
  path_.assign(trie.max_depth() + 1, LeafAutomata::kDead);
  walk_literals(std::move(literals), trie, 0, static_cast<std::uint32_t>(trie.nodes().size()), mask, exits);
  return exits;
}

/// The nodes first..last are siblings and what is below them.
void LeafMasks::walk_literals(std::vector<Literal> literals, const TokenTrie& trie, std::uint32_t first,
                              std::uint32_t last, std::span<std::uint64_t> mask, std::vector<Exit>& exits) {
  leaves_.work().take(1 + 2 * literals.size());
  const auto byte_of = [&](const Literal& literal) { return leaves_.next_byte(literal.state); };
  if (!std::ranges::is_sorted(literals, {}, byte_of)) std::ranges::sort(literals, {}, byte_of);
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  auto begin = literals.begin();
  for (std::uint32_t i = first; i < last && begin != literals.end(); i = nodes[i].end) {
    const TokenTrie::Node& node = nodes[i];
    begin =
        std::lower_bound(begin, literals.end(), node.byte,
                         [&](const Literal& literal, std::uint8_t byte) { return byte_of(literal) < byte; });
    if (begin == literals.end() || byte_of(*begin) != node.byte) continue;
    if (node.token != TokenTrie::kNoToken) allow_token(mask, node.token);
    if (node.has_namesakes)
      for (const TokenTrie::Namesake& other : trie.namesakes(i, i + 1)) allow_token(mask, other.token);
    std::vector<Literal> longer;
    for (; begin != literals.end() && byte_of(*begin) == node.byte; ++begin) {
      if (node.end == i + 1) continue;
      const Literal after{.state = leaves_.step(begin->state, node.byte), .item = begin->item};
      if (leaves_.is_literal(after.state))
        longer.push_back(after);
      else
        leave_literal(after, trie, i, mask, exits);
    }
    if (!longer.empty()) walk_literals(std::move(longer), trie, i + 1, node.end, mask, exits);
  }
}

/// A literal ends with the node's byte; its leaf may go on in the subtree.
void LeafMasks::leave_literal(const Literal& after, const TokenTrie& trie, std::uint32_t node,
                              std::span<std::uint64_t> mask, std::vector<Exit>& exits) {
  if (leaves_.accepts(after.state)) exits.push_back({after.item, node});
  const TokenTrie::Node& it = trie.nodes()[node];
  path_[it.depth] = after.state;
  LeafMask below;
  walk(trie, node + 1, it.end, below, below.rest_exits);
  for (const TokenId token : below.tokens) allow_token(mask, token);
  for (const std::uint32_t exit : below.rest_exits) exits.push_back({after.item, exit});
}

}  // namespace lanner::text::grammar
