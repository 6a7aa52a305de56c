// SPDX-License-Identifier: MIT
#include "text/grammar/leaf_masks.h"

#include <algorithm>

namespace lanner::text::grammar {

void LeafMask::add_to(std::span<std::uint64_t> mask, const GrammarVocabulary& vocabulary) const {
  if (plain > 0) {
    const std::span<const std::uint64_t> plain_mask = vocabulary.plain_up_to(plain);
    for (std::size_t i = 0; i < plain_mask.size(); ++i) mask[i] |= plain_mask[i];
  }
  for (std::size_t i = 0; i < dense.size(); ++i) mask[i] |= dense[i];
  for (const TokenId token : tokens) allow_token(mask, token);
}

const LeafMask& LeafMasks::of(LeafState state) {
  const LeafMask*& known = by_state_[state];
  if (known != nullptr) return *known;
  const LeafState representative = leaves_.representative(state, vocabulary_.max_bytes());
  std::unique_ptr<LeafMask>& mask = masks_[representative];
  if (!mask) {
    mask = compute(representative);
    memory_bytes_ +=
        sizeof(LeafMask) + 64 +
        (mask->tokens.size() + 2 * mask->dense.size() + mask->plain_exits.size() + mask->rest_exits.size()) *
            sizeof(std::uint32_t);
  }
  known = mask.get();
  return *known;
}

std::optional<std::size_t> LeafMasks::plain_characters(LeafState state) {
  bool may_leave = false;  // The leaf may be complete inside a plain token.
  for (std::size_t characters = 0; characters < GrammarVocabulary::kMaxPlain; ++characters) {
    const auto step = leaves_.plain_step(state);
    if (!step) return std::nullopt;
    may_leave = may_leave || step->accepts_inside;
    // Tokens with more characters cannot be read by the leaf alone; with an end inside, others may read them.
    if (step->next == LeafAutomata::kDead) return may_leave ? std::nullopt : std::optional(characters);
    if (step->next == state) break;
    state = step->next;
    may_leave = may_leave || leaves_.accepts(state);
  }
  return GrammarVocabulary::kMaxPlain;
}

std::unique_ptr<LeafMask> LeafMasks::compute(LeafState state) {
  auto mask = std::make_unique<LeafMask>();
  if (const auto plain = plain_characters(state))
    mask->plain = *plain;
  else
    walk(state, vocabulary_.plain(), *mask, mask->plain_exits);
  walk(state, vocabulary_.rest(), *mask, mask->rest_exits);
  const std::size_t words = mask_words(vocabulary_.size());
  if (mask->tokens.size() > words) {
    mask->dense.resize(words);
    for (const TokenId token : mask->tokens) allow_token(mask->dense, token);
    mask->tokens = {};
  }
  return mask;
}

void LeafMasks::allow(const TokenTrie& trie, std::uint32_t node, LeafMask& mask) {
  const TokenId token = trie.nodes()[node].token;
  if (token == TokenTrie::kNoToken) return;
  allowed_nodes_.push_back(node);
  mask.tokens.push_back(token);
  if (!trie.nodes()[node].has_namesakes) return;
  const std::span<const TokenId> namesakes = trie.namesakes(token);
  mask.tokens.insert(mask.tokens.end(), namesakes.begin(), namesakes.end());
}

void LeafMasks::walk(LeafState state, const TokenTrie& trie, LeafMask& mask,
                     std::vector<std::uint32_t>& exits) {
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  const bool plain = &trie == &vocabulary_.plain();
  path_.assign(trie.max_depth() + 1, LeafAutomata::kDead);
  path_[0] = state;
  allowed_nodes_.clear();
  for (std::uint32_t i = 0; i < nodes.size();) {
    const TokenTrie::Node& node = nodes[i];
    const LeafState next = leaves_.step(path_[node.depth - 1U], node.byte);
    if (next == LeafAutomata::kDead) {
      i = node.end;
      continue;
    }
    if (plain && leaves_.keeps_plain(next)) {
      // Whole subtrees at one stroke: inside a string that only must not be one of some words, say.
      for (; i < node.end; ++i) allow(trie, i, mask);
      continue;
    }
    path_[node.depth] = next;
    allow(trie, i, mask);
    if (leaves_.accepts(next) && node.end > i + 1) exits.push_back(i);
    ++i;
  }
  // Leaving is of no use where the leaf itself reads every token.
  std::erase_if(exits, [&](std::uint32_t exit) {
    const std::uint32_t end = nodes[exit].end;
    const auto first = std::ranges::upper_bound(allowed_nodes_, exit);
    const auto last = std::lower_bound(first, allowed_nodes_.end(), end);
    return last - first == trie.tokens_before(end) - trie.tokens_before(exit + 1);
  });
}

}  // namespace lanner::text::grammar
