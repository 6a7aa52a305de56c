// SPDX-License-Identifier: MIT
#include "text/grammar/token_trie.h"

#include <algorithm>

namespace lanner::text::grammar {

TokenTrie::TokenTrie(std::vector<TokenBytes> tokens) {
  std::ranges::sort(tokens, [](const TokenBytes& a, const TokenBytes& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.id < b.id;
  });
  std::vector<std::uint32_t> path;  // Nodes of the previous token's bytes.
  const std::string* previous = nullptr;
  std::uint32_t count = 0;
  for (const TokenBytes& token : tokens) {
    if (previous != nullptr && *previous == token.bytes) {
      Node& node = nodes_[path.back()];
      if (!node.has_namesakes) {
        node.has_namesakes = true;
        first_with_namesakes_.push_back(node.token);
        namesakes_.emplace_back();
      }
      namesakes_.back().push_back(token.id);
      continue;
    }
    std::size_t shared = 0;
    if (previous != nullptr)
      shared =
          static_cast<std::size_t>(std::ranges::mismatch(*previous, token.bytes).in1 - previous->begin());
    for (; path.size() > shared; path.pop_back())
      nodes_[path.back()].end = static_cast<std::uint32_t>(nodes_.size());
    for (std::size_t at = shared; at < token.bytes.size(); ++at) {
      path.push_back(static_cast<std::uint32_t>(nodes_.size()));
      nodes_.push_back(
          {.depth = static_cast<std::uint16_t>(at + 1), .byte = static_cast<std::uint8_t>(token.bytes[at])});
      tokens_before_.push_back(count);
    }
    nodes_[path.back()].token = token.id;
    ++count;
    max_depth_ = std::max(max_depth_, token.bytes.size());
    previous = &token.bytes;
  }
  for (const std::uint32_t node : path) nodes_[node].end = static_cast<std::uint32_t>(nodes_.size());
  tokens_before_.push_back(count);
}

std::span<const TokenId> TokenTrie::namesakes(TokenId token) const {
  const auto at = std::ranges::find(first_with_namesakes_, token);
  if (at == first_with_namesakes_.end()) return {};
  return namesakes_[static_cast<std::size_t>(at - first_with_namesakes_.begin())];
}

}  // namespace lanner::text::grammar
