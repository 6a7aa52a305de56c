// SPDX-License-Identifier: MIT
#include "text/grammar/parse_states.h"

#include <algorithm>
#include <functional>

#include "core/error.h"

namespace lanner::text::grammar {

namespace {

using EdgeKind = Program::EdgeKind;

/// Items that one state may have: more come only from grammars ambiguous beyond use.
constexpr std::size_t kMaxItems = 100'000;

template <typename T>
void sort_unique(std::vector<T>& values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

std::uint64_t hash_frame(std::uint64_t hash, const ParseStates::Frame& frame) {
  return hash_word(hash_word(hash, frame.place), frame.callers);
}

}  // namespace

ParseStates::ParseStates(const Program& program, LeafAutomata& leaves)
    : program_(program), leaves_(leaves), rule_at_(program.rules.size()), callers_(program.rules.size()) {
  for (std::uint32_t rule = 0; rule < program.rules.size(); ++rule)
    rule_at_[program.rules[rule].order] = rule;
  states_.push_back({});  // kDead
  std::vector<Frame> finish{{kFinish, 0}};
  const std::uint32_t root_callers = intern_frames(finish);
  new_accepts_ = program.rules[program.root].nullable;
  call(program.root, Program::kEndNode, 0, root_callers);
  start_ = close();
}

ParseState ParseStates::step(ParseState state, std::uint8_t byte) {
  const std::uint64_t key = std::uint64_t{state} << 8 | byte;
  const auto known = steps_.find(key);
  if (known != steps_.end()) return known->second;
  forget_pending();
  leaves_.work().take(kPartWork + states_[state].items);
  for (std::uint32_t i = 0; i < states_[state].items; ++i) {
    const Item item = items_[states_[state].first_item + i];
    const LeafState leaf = leaves_.step(item.leaf, byte);
    if (leaf == LeafAutomata::kDead) continue;
    new_items_.push_back({leaf, item.then});
    if (leaves_.accepts(leaf)) pending_.push_back(item.then);
  }
  const ParseState next = close();
  steps_.emplace(key, next);
  return next;
}

ParseState ParseStates::step_marker(ParseState state, TokenId marker) {
  const std::uint64_t key = std::uint64_t{state} << 32 | static_cast<std::uint32_t>(marker);
  const auto known = marker_steps_.find(key);
  if (known != marker_steps_.end()) return known->second;
  forget_pending();
  leaves_.work().take(kPartWork + markers(state).size());
  for (const MarkerItem& item : markers(state)) {
    const bool matches = item.kind == EdgeKind::kMarker
                             ? item.target == static_cast<std::uint32_t>(marker)
                             : std::ranges::find(program_.other_markers[item.target], marker) ==
                                   program_.other_markers[item.target].end();
    if (matches) pending_.push_back(item.then);
  }
  const ParseState next = close();
  marker_steps_.emplace(key, next);
  return next;
}

ParseState ParseStates::after(Frame frame) {
  const std::vector<std::pair<std::uint32_t, ParseState>>& known = after_[frame.place];
  leaves_.work().take(1 + known.size() / 8);
  for (const auto& [callers, state] : known)
    if (callers == frame.callers) return state;
  forget_pending();
  pending_.push_back(frame);
  const ParseState state = close();
  after_[frame.place].emplace_back(frame.callers, state);
  return state;
}

void ParseStates::call(std::uint32_t rule, std::uint32_t node, std::uint32_t count, std::uint32_t callers) {
  const std::uint32_t order = program_.rules[rule].order;
  std::vector<Frame>& of_rule = callers_[order];
  if (of_rule.empty()) {
    called_.push_back(order);
    std::ranges::push_heap(called_, std::greater<>());
  }
  const Program::Node& next = program_.nodes[node];
  // A call with nothing behind it returns straight to the caller's callers: tail recursion needs no stack.
  const bool nothing_behind = node == Program::kEndNode || (next.counts && count >= next.max);
  if (!nothing_behind) {
    of_rule.push_back({place(node, count), callers});
    return;
  }
  const std::span<const Frame> outer = frames(callers);
  leaves_.work().take(outer.size());
  of_rule.insert(of_rule.end(), outer.begin(), outer.end());
}

void ParseStates::follow_edges(const Program::Node& node, std::uint32_t count, std::uint32_t callers) {
  if (node.counts && count >= node.max) return;
  leaves_.work().take(4 * node.edges.size());
  for (const Program::Edge& edge : node.edges) {
    std::uint32_t next_count = edge.count;
    if (edge.count == Program::kCountUp) {
      next_count = count + 1;
      if (node.max == kUnbounded) next_count = std::min(next_count, std::max(node.min, 1U));
    }
    const Frame then{place(edge.next, next_count), callers};
    if (edge.kind == EdgeKind::kCall)
      call(edge.target, edge.next, next_count, callers);
    else if (edge.kind == EdgeKind::kLeaf)
      new_items_.push_back({leaves_.start(edge.target), then});
    else
      new_markers_.push_back({edge.kind, edge.target, then});
  }
}

void ParseStates::visit(const Frame& at) {
  if (at.place == kFinish) {
    new_accepts_ = true;
    return;
  }
  const auto node_id = static_cast<std::uint32_t>(at.place);
  const auto count = static_cast<std::uint32_t>(at.place >> 32);
  const Program::Node& node = program_.nodes[node_id];
  if (node.counts ? count >= node.min : node.end) {
    const std::span<const Frame> outer = frames(at.callers);
    leaves_.work().take(outer.size());
    pending_.insert(pending_.end(), outer.begin(), outer.end());
  }
  follow_edges(node, count, at.callers);
}

/// What an earlier step left that took too much work.
void ParseStates::forget_pending() {
  pending_.clear();
  for (const std::uint32_t order : called_) callers_[order].clear();
  called_.clear();
  new_items_.clear();
  new_markers_.clear();
  new_accepts_ = false;
}

ParseState ParseStates::close() {
  sort_unique(pending_);
  // Returns lead only to calls that began earlier, so they come to an end; equal ones are followed once.
  std::vector<Frame> seen;
  while (!pending_.empty()) {
    std::vector<Frame> wave;
    wave.swap(pending_);
    sort_unique(wave);
    leaves_.work().take(1 + 4 * wave.size() + seen.size() / 8);
    for (const Frame& at : wave) {
      if (std::ranges::binary_search(seen, at)) continue;
      visit(at);
    }
    const auto old = static_cast<std::ptrdiff_t>(seen.size());
    seen.insert(seen.end(), wave.begin(), wave.end());
    std::inplace_merge(seen.begin(), seen.begin() + old, seen.end());
  }
  while (!called_.empty()) {
    std::ranges::pop_heap(called_, std::greater<>());
    const std::uint32_t order = called_.back();
    const std::uint32_t set = intern_frames(callers_[order]);
    called_.pop_back();
    callers_[order].clear();
    follow_edges(program_.nodes[program_.rules[rule_at_[order]].start], 0, set);
  }
  const bool accepts = new_accepts_;
  new_accepts_ = false;
  return intern_state(accepts);
}

std::uint32_t ParseStates::intern_frames(std::vector<Frame>& set) {
  leaves_.work().take(2 + set.size());
  sort_unique(set);
  std::uint64_t hash = set.size();
  for (const Frame& frame : set) hash = hash_frame(hash, frame);
  const auto fresh = static_cast<std::uint32_t>(sets_.size());
  const std::uint32_t id = set_table_.find_or_add(
      hash, fresh, [&](std::uint32_t other) { return std::ranges::equal(frames(other), set); });
  if (id != fresh) return id;
  sets_.push_back({static_cast<std::uint32_t>(frames_.size()), static_cast<std::uint32_t>(set.size())});
  frames_.insert(frames_.end(), set.begin(), set.end());
  return fresh;
}

ParseState ParseStates::intern_state(bool accepts) {
  leaves_.work().take(2 * (new_items_.size() + new_markers_.size()));
  sort_unique(new_items_);
  sort_unique(new_markers_);
  if (new_items_.size() > kMaxItems)
    throw GrammarLimit("the grammar is too ambiguous: too many ways to read the same text");
  ParseState id = kDead;
  if (accepts || !new_items_.empty() || !new_markers_.empty()) {
    std::uint64_t hash = accepts ? 1 : 2;
    for (const Item& item : new_items_) hash = hash_frame(hash_word(hash, item.leaf), item.then);
    for (const MarkerItem& item : new_markers_) hash = hash_frame(hash_word(hash, item.target), item.then);
    const auto fresh = static_cast<ParseState>(states_.size());
    id = state_table_.find_or_add(hash, fresh, [&](ParseState other) {
      return states_[other].accepts == accepts && std::ranges::equal(items(other), new_items_) &&
             std::ranges::equal(markers(other), new_markers_);
    });
    if (id == fresh) {
      states_.push_back({static_cast<std::uint32_t>(items_.size()),
                         static_cast<std::uint32_t>(new_items_.size()),
                         static_cast<std::uint32_t>(markers_.size()),
                         static_cast<std::uint32_t>(new_markers_.size()), accepts});
      items_.insert(items_.end(), new_items_.begin(), new_items_.end());
      markers_.insert(markers_.end(), new_markers_.begin(), new_markers_.end());
    }
  }
  new_items_.clear();
  new_markers_.clear();
  return id;
}

std::size_t ParseStates::memory_bytes() const {
  return states_.size() * sizeof(State) + items_.size() * sizeof(Item) + frames_.size() * sizeof(Frame) +
         sets_.size() * sizeof(FrameSet) + state_table_.memory_bytes() + set_table_.memory_bytes() +
         (steps_.size() + marker_steps_.size() + after_.size()) * 48;
}

}  // namespace lanner::text::grammar
