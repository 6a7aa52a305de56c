// SPDX-License-Identifier: MIT
#include "text/grammar/leaf_masks.h"

#include <algorithm>

namespace lanner::text::grammar {

namespace {

/// Nodes from which on a subtree is worth asking whether all of it is allowed.
constexpr std::uint32_t kLargeSubtree = 16;

}  // namespace

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
    const LeafAutomata::PlainStep step = leaves_.plain_step(state);
    if (step.classes != kAllPlain) return std::nullopt;
    may_leave = may_leave || step.accepts_inside;
    // Tokens with more characters cannot be read by the leaf alone; with an end inside, others may read them.
    if (step.next == LeafAutomata::kDead) return may_leave ? std::nullopt : std::optional(characters);
    if (step.next == state) break;
    state = step.next;
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

/// Allows the tokens that end in the nodes first..last, last excluded.
void LeafMasks::allow(const TokenTrie& trie, std::uint32_t first, std::uint32_t last, LeafMask& mask) {
  const std::span<const TokenId> tokens = trie.tokens(first, last);
  if (tokens.empty()) return;
  if (allowed_.empty() || allowed_.back().end != first)
    allowed_.push_back({.begin = first, .end = last});
  else
    allowed_.back().end = last;
  mask.tokens.insert(mask.tokens.end(), tokens.begin(), tokens.end());
  if (last - first == 1 && !trie.nodes()[first].has_namesakes) return;
  for (const TokenTrie::Namesake& other : trie.namesakes(first, last)) mask.tokens.push_back(other.token);
}

void LeafMasks::walk(LeafState state, const TokenTrie& trie, LeafMask& mask,
                     std::vector<std::uint32_t>& exits) {
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  const std::span<const GrammarVocabulary::Below> below =
      &trie == &vocabulary_.plain() ? vocabulary_.below() : std::span<const GrammarVocabulary::Below>();
  path_.assign(trie.max_depth() + 1, LeafAutomata::kDead);
  path_[0] = state;
  allowed_.clear();
  for (std::uint32_t i = 0; i < nodes.size();) {
    const TokenTrie::Node& node = nodes[i];
    const LeafState next = leaves_.step(path_[node.depth - 1U], node.byte);
    if (next == LeafAutomata::kDead) {
      i = node.end;
      continue;
    }
    // Whole subtrees at one stroke, in strings and words: all that can follow here may follow.
    const bool large = !below.empty() && node.end - i > kLargeSubtree;
    if (large && leaves_.reads_plain(next, below[i].classes, below[i].characters)) {
      allow(trie, i, node.end, mask);
      i = node.end;
      continue;
    }
    path_[node.depth] = next;
    if (node.token != TokenTrie::kNoToken) allow(trie, i, i + 1, mask);
    if (leaves_.accepts(next) && node.end > i + 1) exits.push_back(i);
    ++i;
  }
  drop_needless(trie, exits);
}

/// Leaving is of no use where the leaf itself reads every token.
void LeafMasks::drop_needless(const TokenTrie& trie, std::vector<std::uint32_t>& exits) const {
  if (exits.empty()) return;
  std::vector<std::uint32_t> before{0};  // Allowed tokens before each range.
  for (const Range& range : allowed_)
    before.push_back(before.back() + trie.tokens_before(range.end) - trie.tokens_before(range.begin));
  const auto allowed_before = [&](std::uint32_t node) {
    const auto range = std::ranges::upper_bound(allowed_, node, {}, &Range::begin) - allowed_.begin();
    if (range == 0) return std::uint32_t{0};
    const Range& last = allowed_[static_cast<std::size_t>(range) - 1];
    return before[static_cast<std::size_t>(range) - 1] + trie.tokens_before(std::min(node, last.end)) -
           trie.tokens_before(last.begin);
  };
  std::erase_if(exits, [&](std::uint32_t exit) {
    const std::uint32_t end = trie.nodes()[exit].end;
    return allowed_before(end) - allowed_before(exit + 1) ==
           trie.tokens_before(end) - trie.tokens_before(exit + 1);
  });
}

}  // namespace lanner::text::grammar
