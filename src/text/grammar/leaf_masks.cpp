// SPDX-License-Identifier: MIT
#include "text/grammar/leaf_masks.h"

#include <algorithm>

namespace lanner::text::grammar {

void LeafMask::add_to(std::span<std::uint32_t> mask, const GrammarVocabulary& vocabulary) const {
  if (plain > 0) {
    const std::span<const std::uint32_t> plain_mask = vocabulary.plain_up_to(plain);
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
    memory_bytes_ += sizeof(LeafMask) + 64 +
                     (mask->tokens.size() + mask->dense.size() + mask->exits.size()) * sizeof(std::uint32_t);
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
  const auto plain = plain_characters(state);
  mask->plain = plain.value_or(0);
  mask->trie = plain ? &vocabulary_.rest() : &vocabulary_.trie();
  walk(state, *mask);
  const std::size_t words = mask_words(vocabulary_.size());
  if (mask->tokens.size() > words / 2) {
    mask->dense.resize(words);
    for (const TokenId token : mask->tokens) allow_token(mask->dense, token);
    mask->tokens = {};
  }
  return mask;
}

void LeafMasks::walk(LeafState state, LeafMask& mask) {
  const std::span<const TokenTrie::Node> nodes = mask.trie->nodes();
  path_.assign(mask.trie->max_depth() + 1, LeafAutomata::kDead);
  path_[0] = state;
  allowed_nodes_.clear();
  for (std::uint32_t i = 0; i < nodes.size();) {
    const TokenTrie::Node& node = nodes[i];
    const LeafState next = leaves_.step(path_[node.depth - 1U], node.byte);
    if (next == LeafAutomata::kDead) {
      i = node.end;
      continue;
    }
    path_[node.depth] = next;
    if (node.token != TokenTrie::kNoToken) {
      allowed_nodes_.push_back(i);
      mask.tokens.push_back(node.token);
      if (node.has_namesakes)
        for (const TokenId token : mask.trie->namesakes(node.token)) mask.tokens.push_back(token);
    }
    if (leaves_.accepts(next) && node.end > i + 1) mask.exits.push_back(i);
    ++i;
  }
  // Leaving is of no use where the leaf itself reads every token.
  std::erase_if(mask.exits, [&](std::uint32_t exit) {
    const std::uint32_t end = nodes[exit].end;
    const auto first = std::ranges::upper_bound(allowed_nodes_, exit);
    const auto last = std::ranges::lower_bound(first, allowed_nodes_.end(), end);
    return last - first == mask.trie->tokens_before(end) - mask.trie->tokens_before(exit + 1);
  });
}

}  // namespace lanner::text::grammar
