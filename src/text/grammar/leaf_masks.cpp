// SPDX-License-Identifier: MIT
#include "text/grammar/leaf_masks.h"

#include <algorithm>

namespace lanner::text::grammar {

namespace {

/// Nodes from which on a subtree is worth asking whether all of it is allowed.
constexpr std::uint32_t kLargeSubtree = 16;

void add(std::vector<LeafMask::Range>& ranges, std::uint32_t first, std::uint32_t last) {
  if (ranges.empty() || ranges.back().end != first)
    ranges.push_back({.begin = first, .end = last});
  else
    ranges.back().end = last;
}

/// Drops the exits behind which every token is allowed already: leaving is of no use there. `trie`: of tokens
/// or classes. `allowed`: ascending.
template <typename Trie>
void drop_needless(const Trie& trie, std::span<const LeafMask::Range> allowed,
                   std::vector<std::uint32_t>& exits) {
  if (exits.empty()) return;
  std::vector<std::uint32_t> before{0};  // Allowed tokens before each range.
  for (const LeafMask::Range& range : allowed)
    before.push_back(before.back() + trie.tokens_before(range.end) - trie.tokens_before(range.begin));
  const auto allowed_before = [&](std::uint32_t node) {
    const auto range = std::ranges::upper_bound(allowed, node, {}, &LeafMask::Range::begin) - allowed.begin();
    if (range == 0) return std::uint32_t{0};
    const LeafMask::Range& last = allowed[static_cast<std::size_t>(range) - 1];
    return before[static_cast<std::size_t>(range) - 1] + trie.tokens_before(std::min(node, last.end)) -
           trie.tokens_before(last.begin);
  };
  std::erase_if(exits, [&](std::uint32_t exit) {
    const std::uint32_t end = trie.nodes()[exit].end;
    return allowed_before(end) - allowed_before(exit + 1) ==
           trie.tokens_before(end) - trie.tokens_before(exit + 1);
  });
}

}  // namespace

void LeafMask::add_to(std::span<std::uint64_t> mask, const GrammarVocabulary& vocabulary) const {
  if (plain > 0) {
    const std::span<const std::uint64_t> plain_mask = vocabulary.plain_up_to(plain);
    for (std::size_t i = 0; i < plain_mask.size(); ++i) mask[i] |= plain_mask[i];
  }
  for (const Range& range : class_nodes) vocabulary.classes().add_to(mask, range.begin, range.end);
  for (std::size_t i = 0; i < dense.size(); ++i) mask[i] |= dense[i];
  for (const TokenId token : tokens) allow_token(mask, token);
}

std::size_t LeafMask::memory_bytes() const {
  return sizeof(LeafMask) + class_nodes.size() * sizeof(Range) + dense.size() * sizeof(dense[0]) +
         (tokens.size() + class_exits.size() + plain_exits.size() + rest_exits.size()) *
             sizeof(std::uint32_t);
}

const LeafMask& LeafMasks::of(LeafState state) {
  const LeafMask*& known = by_state_[state];
  if (known != nullptr) return *known;
  leaves_.work().take(kPartWork);
  const LeafState representative = leaves_.representative(state, vocabulary_.max_bytes());
  std::unique_ptr<LeafMask>& mask = masks_[representative];
  if (!mask) {
    mask = compute(representative);
    memory_bytes_ += mask->memory_bytes() + 64;
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
  if (const auto plain = plain_characters(state)) {
    mask->plain = *plain;
  } else {
    walk_classes(state, *mask);
    walk_open(*mask);
  }
  walk_rest(state, *mask);
  const std::size_t words = mask_words(vocabulary_.size());
  if (mask->tokens.size() > words) {
    mask->dense.resize(words);
    for (const TokenId token : mask->tokens) allow_token(mask->dense, token);
    mask->tokens = {};
  }
  return mask;
}

void LeafMasks::walk_classes(LeafState state, LeafMask& mask) {
  const ClassTrie& trie = vocabulary_.classes();
  const std::span<const ClassTrie::Node> nodes = trie.nodes();
  open_.clear();
  path_.assign(GrammarVocabulary::kMaxPlain + 1, LeafAutomata::kDead);
  path_[0] = state;
  for (std::uint32_t i = 0; i < nodes.size();) {
    const ClassTrie::Node& node = nodes[i];
    leaves_.work().take(1);
    const LeafState from = path_[node.depth - 1U];
    // Whole subtrees at one stroke, in strings and words: all that can follow here may follow.
    const PlainClasses classes = node.below | PlainClasses{1} << node.its_class;
    if (node.end - i > kLargeSubtree && leaves_.reads_plain(from, classes, node.characters_below + 1U)) {
      add(mask.class_nodes, i, node.end);
      i = node.end;
      continue;
    }
    const LeafState next = leaves_.class_step(from, node.its_class);
    if (next == LeafAutomata::kMixed)
      for (const std::uint32_t entry : trie.entries(i)) open_.push_back({entry, from});
    if (next == LeafAutomata::kMixed || next == LeafAutomata::kDead) {
      i = node.end;
      continue;
    }
    path_[node.depth] = next;
    if (trie.tokens_before(i) != trie.tokens_before(i + 1)) add(mask.class_nodes, i, i + 1);
    if (leaves_.accepts(next) && node.end > i + 1) mask.class_exits.push_back(i);
    ++i;
  }
  drop_needless(trie, mask.class_nodes, mask.class_exits);
}

void LeafMasks::walk_open(LeafMask& mask) {
  const TokenTrie& trie = vocabulary_.plain();
  std::ranges::sort(open_, {}, &Open::node);
  path_.assign(trie.max_depth() + 1, LeafAutomata::kDead);
  allowed_.clear();
  for (const Open& open : open_) {
    const TokenTrie::Node& node = trie.nodes()[open.node];
    path_[node.depth - 1U] = open.state;
    walk(trie, open.node, node.end, mask, mask.plain_exits);
  }
  drop_needless(trie, allowed_, mask.plain_exits);
}

void LeafMasks::walk_rest(LeafState state, LeafMask& mask) {
  const TokenTrie& trie = vocabulary_.rest();
  path_.assign(trie.max_depth() + 1, LeafAutomata::kDead);
  path_[0] = state;
  allowed_.clear();
  walk(trie, 0, static_cast<std::uint32_t>(trie.nodes().size()), mask, mask.rest_exits);
  drop_needless(trie, allowed_, mask.rest_exits);
}

void LeafMasks::walk(const TokenTrie& trie, std::uint32_t first, std::uint32_t last, LeafMask& mask,
                     std::vector<std::uint32_t>& exits) {
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  for (std::uint32_t i = first; i < last;) {
    const TokenTrie::Node& node = nodes[i];
    leaves_.work().take(1);
    const LeafState next = leaves_.step(path_[node.depth - 1U], node.byte);
    if (next == LeafAutomata::kDead) {
      i = node.end;
      continue;
    }
    path_[node.depth] = next;
    if (node.token != TokenTrie::kNoToken) allow(trie, i, mask);
    if (leaves_.accepts(next) && node.end > i + 1) exits.push_back(i);
    ++i;
  }
}

/// Allows the tokens that end in a node.
void LeafMasks::allow(const TokenTrie& trie, std::uint32_t node, LeafMask& mask) {
  add(allowed_, node, node + 1);
  mask.tokens.push_back(trie.nodes()[node].token);
  if (!trie.nodes()[node].has_namesakes) return;
  for (const TokenTrie::Namesake& other : trie.namesakes(node, node + 1)) mask.tokens.push_back(other.token);
}

}  // namespace lanner::text::grammar
