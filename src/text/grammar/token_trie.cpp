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
      nodes_[path.back()].has_namesakes = true;
      namesakes_.push_back({path.back(), token.id});
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
    tokens_.push_back(token.id);
    ++count;
    max_depth_ = std::max(max_depth_, token.bytes.size());
    previous = &token.bytes;
  }
  for (const std::uint32_t node : path) nodes_[node].end = static_cast<std::uint32_t>(nodes_.size());
  tokens_before_.push_back(count);
}

std::span<const TokenTrie::Namesake> TokenTrie::namesakes(std::size_t first, std::size_t last) const {
  const auto begin = std::ranges::lower_bound(namesakes_, first, {}, &Namesake::node);
  const auto end = std::lower_bound(begin, namesakes_.end(), last,
                                    [](const Namesake& one, std::size_t node) { return one.node < node; });
  return {begin, end};
}

}  // namespace lanner::text::grammar
