// SPDX-License-Identifier: MIT
#include "cache/prefix_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace lanner::cache {
namespace {

/// A node of the subtree whose snapshot can be cut to `length`, or none. Any of them holds the same bits.
PrefixNode* find_cuttable(PrefixNode& subtree, std::size_t length) {
  std::vector<PrefixNode*> open = {&subtree};
  while (!open.empty()) {
    PrefixNode& node = *open.back();
    open.pop_back();
    if (node.checkpoint && node.checkpoint->cache.can_truncate(length)) return &node;
    for (const auto& [token, child] : node.children) open.push_back(child.get());
  }
  return nullptr;
}

struct Usable {
  PrefixNode* node = nullptr;
  std::size_t length = 0;
};

/// The snapshot of use at the most positions up to `limit`, which all of `match` shares.
Usable find_usable(const PrefixTree::Match& match, std::size_t limit) {
  if (limit == 0) return {};
  PrefixNode* above = match.below;  // the deepest node whose whole subtree shares `limit` tokens
  for (PrefixNode* node : match.path)
    if (node->length >= limit) {
      above = node;
      break;
    }
  if (PrefixNode* node = find_cuttable(*above, limit)) return {node, limit};
  const auto deepest = std::find_if(match.path.rbegin(), match.path.rend(), [&](const PrefixNode* node) {
    return node->checkpoint && node->length <= limit;
  });
  if (deepest == match.path.rend()) return {};
  return {*deepest, (*deepest)->length};
}

}  // namespace

PrefixLookup PrefixStore::find(const PrefixKey& key, std::span<const TokenId> ids, std::size_t at_most) {
  ++counters_.lookups;
  const auto tree = trees_.find(key);
  if (tree == trees_.end()) return {};
  const PrefixTree::Match match = tree->second.match(ids);
  const std::size_t limit = std::min(match.length, at_most);
  const Usable usable = find_usable(match, limit);
  PrefixLookup found;
  if (usable.node != nullptr) {
    found.length = usable.length;
    found.cache = usable.node->checkpoint->cache.fork_at(usable.length);
    touch(tree->second, *usable.node, usable.node->checkpoint->kind);
    ++counters_.hits;
    counters_.reused_tokens += usable.length;
  }
  if (limit - found.length >= kBranchGap)
    found.branch_point = limit / device::kMostDeltaChunk * device::kMostDeltaChunk;
  return found;
}

void PrefixStore::insert(const PrefixKey& key, std::span<const TokenId> ids, const SequenceCache& sequence,
                         CheckpointClass kind) {
  if (ids.empty() || sequence.length() != ids.size())
    throw Error(ErrorKind::kInternal, fmt::format("a snapshot of {} positions was stored under {} tokens",
                                                  sequence.length(), ids.size()));
  SequenceCache snapshot = sequence.fork();
  if (snapshot.size_bytes() > capacity_bytes_) return;
  PrefixTree& tree = trees_[key];
  PrefixNode& node = tree.node_at(ids);
  if (node.checkpoint) return touch(tree, node, std::max(kind, node.checkpoint->kind));
  hold(snapshot);
  node.checkpoint.emplace(Checkpoint{.cache = std::move(snapshot), .kind = kind, .last_used = 0});
  touch(tree, node, kind);
  ++counters_.stored[static_cast<std::size_t>(kind)];
  limit_branch(node);
  while (size_bytes() > capacity_bytes_) evict_one();
}

std::size_t PrefixStore::checkpoints() const {
  std::size_t count = 0;
  for (const Uses& of_class : uses_) count += of_class.size();
  return count;
}

/// Where a checkpoint stands in the order of eviction: lower goes first.
std::uint64_t PrefixStore::rank(std::uint64_t last_used, CheckpointClass kind) const {
  return last_used + static_cast<std::uint64_t>(kind) * std::max(kLeastAgePerClass, checkpoints());
}

void PrefixStore::touch(PrefixTree& tree, PrefixNode& node, CheckpointClass kind) {
  Checkpoint& checkpoint = *node.checkpoint;
  uses(checkpoint.kind).erase(checkpoint.last_used);
  checkpoint.kind = kind;
  checkpoint.last_used = ++clock_;
  uses(kind).emplace(checkpoint.last_used, Place{&tree, &node});
}

void PrefixStore::hold(const SequenceCache& cache) {
  cache.visit_blocks([&](const BlockRef& block, CacheKind kind) {
    if (++holders_[block.get()] == 1) bytes_.of(kind) += block->size_bytes();
  });
}

void PrefixStore::release(const SequenceCache& cache) {
  cache.visit_blocks([&](const BlockRef& block, CacheKind kind) {
    const auto holders = holders_.find(block.get());
    if (--holders->second > 0) return;
    holders_.erase(holders);
    bytes_.of(kind) -= block->size_bytes();
  });
}

void PrefixStore::drop(const Place& victim) {
  const auto [tree, node] = victim;
  const CheckpointClass kind = node->checkpoint->kind;
  uses(kind).erase(node->checkpoint->last_used);
  ++counters_.evicted[static_cast<std::size_t>(kind)];
  release(node->checkpoint->cache);
  node->checkpoint.reset();
  tree->prune(*node);
  ++counters_.evictions;
}

bool PrefixStore::evict_one() {
  std::optional<Place> victim;
  std::uint64_t lowest = 0;
  for (std::size_t i = 0; i < kCheckpointClasses; ++i) {
    if (uses_[i].empty()) continue;
    const auto& [last_used, place] = *uses_[i].begin();
    const std::uint64_t mine = rank(last_used, static_cast<CheckpointClass>(i));
    if (victim && mine >= lowest) continue;
    victim = place;
    lowest = mine;
  }
  if (!victim) return false;
  PrefixTree* const tree = victim->tree;
  drop(*victim);
  if (tree->empty())
    trees_.erase(std::ranges::find_if(trees_, [&](const auto& entry) { return &entry.second == tree; }));
  return true;
}

void PrefixStore::limit_branch(const PrefixNode& newest) {
  std::size_t count = 0;
  const Checkpoint* first = nullptr;
  const auto rank_of = [&](const Checkpoint& of) { return rank(of.last_used, of.kind); };
  for (const PrefixNode* node = &newest; node != nullptr; node = node->parent) {
    if (!node->checkpoint) continue;
    ++count;
    if (node != &newest && (first == nullptr || rank_of(*node->checkpoint) < rank_of(*first)))
      first = &*node->checkpoint;
  }
  if (count > kMaxPerBranch) drop(uses(first->kind).at(first->last_used));
}

void PrefixStore::remove_tree(std::map<PrefixKey, PrefixTree>::iterator tree) {
  for (Uses& of_class : uses_)
    for (auto use = of_class.begin(); use != of_class.end();) {
      const Place place = (use++)->second;
      if (place.tree == &tree->second) drop(place);
    }
  trees_.erase(tree);
}

void PrefixStore::forget(const PrefixKey& key) {
  if (const auto tree = trees_.find(key); tree != trees_.end()) remove_tree(tree);
}

void PrefixStore::forget_where(const std::function<bool(const PrefixKey&)>& matches) {
  for (auto tree = trees_.begin(); tree != trees_.end();) {
    const auto next = std::next(tree);
    if (matches(tree->first)) remove_tree(tree);
    tree = next;
  }
}

void PrefixStore::clear() {
  while (!trees_.empty()) remove_tree(trees_.begin());
}

PrefixStoreStats PrefixStore::stats() const {
  PrefixStoreStats now = counters_;
  now.checkpoints = checkpoints();
  now.bytes = bytes_;
  return now;
}

}  // namespace lanner::cache
