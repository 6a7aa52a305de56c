// SPDX-License-Identifier: MIT
#include "cache/prefix_tree.h"

#include <algorithm>
#include <cassert>

namespace lanner::cache {
namespace {

std::size_t common_length(std::span<const TokenId> a, std::span<const TokenId> b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

std::vector<TokenId> copy_of(std::span<const TokenId> ids) { return {ids.begin(), ids.end()}; }

/// Puts a node in the middle of child's edge, `count` tokens after its beginning.
PrefixNode& split(PrefixNode& child, std::size_t count) {
  PrefixNode& parent = *child.parent;
  std::unique_ptr<PrefixNode>& place = parent.children.at(child.edge.front());
  auto middle = std::make_unique<PrefixNode>();
  middle->parent = &parent;
  middle->edge = copy_of(std::span(child.edge).first(count));
  middle->length = parent.length + count;
  std::vector<TokenId> rest = copy_of(std::span(child.edge).subspan(count));
  child.edge.swap(rest);
  child.parent = middle.get();
  middle->children.emplace(child.edge.front(), std::move(place));
  place = std::move(middle);
  return *place;
}

}  // namespace

PrefixTree::Match PrefixTree::match(std::span<const TokenId> ids) {
  Match found{.length = 0, .path = {&root_}, .below = &root_};
  while (found.length < ids.size()) {
    const auto next = found.below->children.find(ids[found.length]);
    if (next == found.below->children.end()) break;
    found.below = next->second.get();
    const std::size_t common = common_length(ids.subspan(found.length), found.below->edge);
    found.length += common;
    if (common < found.below->edge.size()) break;
    found.path.push_back(found.below);
  }
  return found;
}

PrefixNode& PrefixTree::node_at(std::span<const TokenId> ids) {
  const Match found = match(ids);
  PrefixNode* node = found.below;
  if (found.length < node->length) node = &split(*node, node->edge.size() - (node->length - found.length));
  if (found.length == ids.size()) return *node;
  auto leaf = std::make_unique<PrefixNode>();
  leaf->parent = node;
  leaf->edge = copy_of(ids.subspan(found.length));
  leaf->length = ids.size();
  return *node->children.emplace(leaf->edge.front(), std::move(leaf)).first->second;
}

void PrefixTree::prune(PrefixNode& node) {
  PrefixNode* empty = &node;
  while (empty->parent != nullptr && !empty->checkpoint && empty->children.empty()) {
    PrefixNode* parent = empty->parent;
    parent->children.erase(empty->edge.front());
    empty = parent;
  }
  if (empty->parent == nullptr || empty->checkpoint || empty->children.size() != 1) return;
  // A node that neither holds nor parts anything: its child takes its place.
  std::unique_ptr<PrefixNode> child = std::move(empty->children.begin()->second);
  child->edge.insert(child->edge.begin(), empty->edge.begin(), empty->edge.end());
  child->parent = empty->parent;
  child->parent->children.at(child->edge.front()).swap(child);
}

}  // namespace lanner::cache
