// SPDX-License-Identifier: MIT
#include "text/grammar/class_trie.h"

#include <algorithm>
#include <unordered_map>

#include "text/grammar/token_mask.h"

namespace lanner::text::grammar {

namespace {

/// Tokens of a node from which on joining a whole mask is faster than setting their bits.
constexpr std::uint32_t kDenseTokens = 1024;

/// The class of the plain character that ends with each node; kNoPlainClass inside a character.
std::vector<std::uint8_t> ended_classes(const TokenTrie& trie) {
  std::vector<std::uint8_t> classes, missing(trie.max_depth() + 1);  // Bytes of a character, by depth.
  classes.reserve(trie.nodes().size());
  for (const TokenTrie::Node& node : trie.nodes()) {
    const std::uint8_t before = missing[node.depth - 1U];
    std::uint8_t after = 0;
    if (before > 0)
      after = static_cast<std::uint8_t>(before - 1);
    else if (node.byte >= 0xC0)
      after = node.byte >= 0xF0 ? 3 : node.byte >= 0xE0 ? 2 : 1;
    missing[node.depth] = after;
    classes.push_back(after > 0 ? kNoPlainClass : node.byte < 0x80 ? kAsciiClass[node.byte] : kBeyondAscii);
  }
  return classes;
}

}  // namespace

/// Nodes in the order in which the plain trie shows them.
struct ClassTrie::Draft {
  struct Node {
    std::uint32_t parent;
    std::uint8_t its_class;
  };
  std::vector<Node> nodes;
  std::vector<std::uint32_t> node_at;  ///< By node of the plain trie; kNone in the middle of a character.
};

ClassTrie::ClassTrie(const TokenTrie& plain, std::size_t vocabulary_size)
    : words_(mask_words(vocabulary_size)) {
  const std::vector<std::uint8_t> classes = ended_classes(plain);
  Draft draft;
  std::unordered_map<std::uint64_t, std::uint32_t> known;  // By parent and class.
  std::vector<std::uint32_t> path(plain.max_depth() + 1, kNone);
  for (std::size_t i = 0; i < plain.nodes().size(); ++i) {
    const std::uint16_t depth = plain.nodes()[i].depth;
    const std::uint32_t parent = path[depth - 1U];
    path[depth] = parent;
    draft.node_at.push_back(kNone);
    if (classes[i] == kNoPlainClass) continue;
    const auto fresh = static_cast<std::uint32_t>(draft.nodes.size());
    const auto [entry, added] = known.emplace(std::uint64_t{parent} << 8 | classes[i], fresh);
    if (added) draft.nodes.push_back({parent, classes[i]});
    draft.node_at.back() = path[depth] = entry->second;
  }
  const std::vector<std::uint32_t> number_of = number(draft);
  for (std::uint32_t& node : draft.node_at)
    if (node != kNone) node = number_of[node];
  collect_tokens(plain, draft.node_at);
  collect_entries(plain, draft.node_at);
  fill_dense(vocabulary_size);
}

/// Puts the draft's nodes into depth-first order; returns their numbers in it.
std::vector<std::uint32_t> ClassTrie::number(const Draft& draft) {
  const std::size_t count = draft.nodes.size();
  std::vector<std::vector<std::uint32_t>> children(count + 1);
  for (std::uint32_t i = 0; i < count; ++i)
    children[draft.nodes[i].parent == kNone ? count : draft.nodes[i].parent].push_back(i);
  std::vector<std::uint32_t> number_of(count), parents;
  std::vector<std::uint32_t> open(children[count].rbegin(), children[count].rend());
  while (!open.empty()) {
    const std::uint32_t at = open.back();
    open.pop_back();
    number_of[at] = static_cast<std::uint32_t>(nodes_.size());
    const std::uint32_t parent = draft.nodes[at].parent;
    parents.push_back(parent == kNone ? kNone : number_of[parent]);
    const unsigned depth = parent == kNone ? 1U : nodes_[parents.back()].depth + 1U;
    nodes_.push_back({.end = number_of[at] + 1,
                      .depth = static_cast<std::uint8_t>(depth),
                      .its_class = draft.nodes[at].its_class});
    open.insert(open.end(), children[at].rbegin(), children[at].rend());
  }
  for (std::size_t i = count; i-- > 0;) {
    if (parents[i] == kNone) continue;
    Node& parent = nodes_[parents[i]];
    parent.end = std::max(parent.end, nodes_[i].end);
    parent.below |= nodes_[i].below | PlainClasses{1} << nodes_[i].its_class;
    parent.characters_below =
        std::max(parent.characters_below, static_cast<std::uint8_t>(nodes_[i].characters_below + 1));
  }
  return number_of;
}

void ClassTrie::collect_tokens(const TokenTrie& plain, std::span<const std::uint32_t> node_at) {
  std::vector<std::vector<TokenId>> of_node(nodes_.size());
  for (std::size_t i = 0; i < node_at.size(); ++i)
    if (plain.nodes()[i].token != TokenTrie::kNoToken) of_node[node_at[i]].push_back(plain.nodes()[i].token);
  for (const TokenTrie::Namesake& other : plain.namesakes(0, plain.nodes().size()))
    of_node[node_at[other.node]].push_back(other.token);
  tokens_before_.push_back(0);
  for (std::vector<TokenId>& tokens : of_node) {
    std::ranges::sort(tokens);
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    tokens_before_.push_back(static_cast<std::uint32_t>(tokens_.size()));
  }
}

void ClassTrie::collect_entries(const TokenTrie& plain, std::span<const std::uint32_t> node_at) {
  std::vector<std::vector<std::uint32_t>> of_node(nodes_.size());
  std::vector<std::uint32_t> begins(plain.max_depth() + 1, kNone);  // Of an unfinished character, by depth.
  for (std::uint32_t i = 0; i < node_at.size(); ++i) {
    const std::uint16_t depth = plain.nodes()[i].depth;
    const std::uint32_t begin = begins[depth - 1U] == kNone ? i : begins[depth - 1U];
    begins[depth] = node_at[i] == kNone ? begin : kNone;
    if (node_at[i] == kNone) continue;
    std::vector<std::uint32_t>& entries = of_node[node_at[i]];
    if (entries.empty() || entries.back() != begin) entries.push_back(begin);
  }
  entries_before_.push_back(0);
  for (const std::vector<std::uint32_t>& entries : of_node) {
    entries_.insert(entries_.end(), entries.begin(), entries.end());
    entries_before_.push_back(static_cast<std::uint32_t>(entries_.size()));
  }
}

void ClassTrie::fill_dense(std::size_t vocabulary_size) {
  dense_at_.assign(nodes_.size(), kNone);
  if (vocabulary_size < kMaskWordBits * kDenseTokens) return;
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    if (tokens_before_[node + 1] - tokens_before_[node] < kDenseTokens) continue;
    dense_at_[node] = static_cast<std::uint32_t>(dense_.size());
    dense_.resize(dense_.size() + words_);
    const std::span<std::uint64_t> mask = std::span(dense_).subspan(dense_at_[node]);
    for (std::uint32_t i = tokens_before_[node]; i < tokens_before_[node + 1]; ++i)
      allow_token(mask, tokens_[i]);
  }
}

void ClassTrie::add_to(std::span<std::uint64_t> mask, std::uint32_t first, std::uint32_t last) const {
  for (std::uint32_t node = first; node < last; ++node) {
    if (dense_at_[node] != kNone) {
      const std::uint64_t* dense = dense_.data() + dense_at_[node];
      for (std::size_t i = 0; i < words_; ++i) mask[i] |= dense[i];
      continue;
    }
    for (std::uint32_t i = tokens_before_[node]; i < tokens_before_[node + 1]; ++i)
      allow_token(mask, tokens_[i]);
  }
}

}  // namespace lanner::text::grammar
