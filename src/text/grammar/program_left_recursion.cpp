// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/error.h"
#include "text/grammar/program.h"

namespace lanner::text::grammar {

namespace {

using EdgeKind = Program::EdgeKind;

/// Groups that are larger would need too many rules.
constexpr std::size_t kMaxGroup = 64;

/// Groups of rules that call each other at their starts, each before the groups it is called from.
/// Source: Tarjan, "Depth-first search and linear graph algorithms", 1972, without recursion.
class LeftCallGroups {
 public:
  explicit LeftCallGroups(const Program& program)
      : states_(program.rules.size()), callees_(program.rules.size()) {
    for (std::uint32_t rule = 0; rule < states_.size(); ++rule)
      for (const Program::Edge& edge : program.nodes[program.rules[rule].start].edges)
        if (edge.kind == EdgeKind::kCall) callees_[rule].push_back(edge.target);
    for (std::uint32_t rule = 0; rule < states_.size(); ++rule)
      if (states_[rule].index == 0) visit(rule);
  }

  const std::vector<std::vector<std::uint32_t>>& groups() const { return groups_; }
  bool is_recursive(const std::vector<std::uint32_t>& group) const {
    return group.size() > 1 || std::ranges::find(callees_[group[0]], group[0]) != callees_[group[0]].end();
  }

 private:
  struct State {
    std::uint32_t index = 0, low = 0;
    std::size_t next = 0;
    bool on_stack = false;
  };

  void enter(std::uint32_t rule) {
    states_[rule].index = states_[rule].low = ++counter_;
    states_[rule].on_stack = true;
    stack_.push_back(rule);
    path_.push_back(rule);
  }
  void visit(std::uint32_t first) {
    enter(first);
    while (!path_.empty()) {
      const std::uint32_t rule = path_.back();
      State& state = states_[rule];
      if (state.next < callees_[rule].size()) {
        const std::uint32_t callee = callees_[rule][state.next++];
        if (states_[callee].index == 0)
          enter(callee);
        else if (states_[callee].on_stack)
          state.low = std::min(state.low, states_[callee].index);
        continue;
      }
      path_.pop_back();
      if (!path_.empty()) states_[path_.back()].low = std::min(states_[path_.back()].low, state.low);
      if (state.low == state.index) take_group(rule);
    }
  }
  void take_group(std::uint32_t first) {
    std::vector<std::uint32_t>& group = groups_.emplace_back();
    do {
      group.push_back(stack_.back());
      states_[stack_.back()].on_stack = false;
      stack_.pop_back();
    } while (group.back() != first);
    std::ranges::sort(group);
  }

  std::vector<State> states_;
  std::vector<std::vector<std::uint32_t>> callees_;
  std::vector<std::uint32_t> stack_, path_;
  std::vector<std::vector<std::uint32_t>> groups_;
  std::uint32_t counter_ = 0;
};

/// Turns one left-recursive group around.
class GroupTransform {
 public:
  GroupTransform(Program& program, const std::vector<std::uint32_t>& group)
      : program_(program), group_(group), size_(group.size()) {
    if (size_ > kMaxGroup) throw GrammarLimit("too many rules of the grammar begin with each other");
  }

  void run() {
    split_starts();
    work().take(size_ * size_ * (2 * kPartWork + size_));
    close_units();
    for (std::size_t from = 0; from < size_; ++from)
      for (std::size_t goal = 0; goal < size_; ++goal) add_chain_rule(from, goal);
    for (std::size_t from = 0; from < size_; ++from)
      for (std::size_t goal = 0; goal < size_; ++goal) fill_chain_rule(from, goal);
    for (std::size_t goal = 0; goal < size_; ++goal) rewrite(goal);
  }

 private:
  /// "The rule `owner` begins with the rule `first`", and what comes behind it.
  struct LeftCall {
    std::size_t owner, first;
    std::uint32_t tail_rule;  ///< kNone when nothing can come behind it.
  };

  Work& work() const { return program_.terms.work(); }
  std::uint32_t add_node(Program::Node node) {
    work().take(2 * kPartWork + kPartWork * node.edges.size());
    program_.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(program_.nodes.size() - 1);
  }
  std::uint32_t add_rule(std::string name, std::vector<Program::Edge> edges) {
    const std::uint32_t start = add_node({.edges = std::move(edges)});
    work().take(name.size());
    program_.rules.push_back({.name = std::move(name), .start = start});
    return static_cast<std::uint32_t>(program_.rules.size() - 1);
  }

  void split_starts() {
    unit_.assign(size_ * size_, false);
    for (std::size_t i = 0; i < size_; ++i) {
      unit_[i * size_ + i] = true;
      std::vector<Program::Edge> others;
      const std::vector<Program::Edge> edges = program_.nodes[program_.rules[group_[i]].start].edges;
      for (const Program::Edge& edge : edges) {
        const auto member = std::ranges::find(group_, edge.target);
        if (edge.kind == EdgeKind::kCall && member != group_.end())
          add_left_call(i, static_cast<std::size_t>(member - group_.begin()), edge);
        else
          others.push_back(edge);
      }
      beginnings_.push_back(others.empty() ? Program::kNone
                                           : add_rule(program_.rules[group_[i]].name, std::move(others)));
    }
  }

  void add_left_call(std::size_t owner, std::size_t first, const Program::Edge& edge) {
    const Program::Node next = program_.nodes[edge.next];
    std::vector<Program::Edge> edges = next.edges;
    bool end = next.end;
    if (next.counts) {
      end = edge.count >= next.min;
      if (edge.count >= next.max) edges.clear();
      for (Program::Edge& up : edges) up.count = edge.count + 1;
    }
    if (end) unit_[first * size_ + owner] = true;
    const std::uint32_t tail =
        edges.empty() ? Program::kNone : add_rule(program_.rules[group_[owner]].name, std::move(edges));
    left_calls_.push_back({owner, first, tail});
  }

  /// unit(i, k): text of rule i, alone, also is text of rule k.
  void close_units() {
    for (std::size_t via = 0; via < size_; ++via)
      for (std::size_t i = 0; i < size_; ++i)
        for (std::size_t k = 0; k < size_; ++k)
          if (unit_[i * size_ + via] && unit_[via * size_ + k]) unit_[i * size_ + k] = true;
  }

  /// The chain rule (from, goal) reads what may stand behind text of `from` so that both are text of `goal`.
  void add_chain_rule(std::size_t from, std::size_t goal) {
    const std::uint32_t rule = add_rule(program_.rules[group_[goal]].name, {});
    const bool nullable = unit_[from * size_ + goal];
    program_.rules[rule].nullable = nullable;
    chains_.push_back(rule);
    chain_nodes_.push_back(add_node(
        {.edges = {{.kind = EdgeKind::kCall, .target = rule, .next = Program::kEndNode}}, .end = nullable}));
  }

  void fill_chain_rule(std::size_t from, std::size_t goal) {
    std::vector<Program::Edge> edges;
    work().take(left_calls_.size());
    for (const LeftCall& call : left_calls_)
      if (call.tail_rule != Program::kNone && unit_[from * size_ + call.first])
        edges.push_back({.kind = EdgeKind::kCall,
                         .target = call.tail_rule,
                         .next = chain_nodes_[call.owner * size_ + goal]});
    work().take(kPartWork * edges.size());
    program_.nodes[program_.rules[chains_[from * size_ + goal]].start].edges = std::move(edges);
  }

  void rewrite(std::size_t goal) {
    std::vector<Program::Edge> edges;
    for (std::size_t first = 0; first < size_; ++first)
      if (beginnings_[first] != Program::kNone)
        edges.push_back({.kind = EdgeKind::kCall,
                         .target = beginnings_[first],
                         .next = chain_nodes_[first * size_ + goal]});
    program_.rules[group_[goal]].start = add_node({.edges = std::move(edges)});
  }

  Program& program_;
  std::vector<std::uint32_t> group_;
  std::size_t size_;
  std::vector<std::uint32_t> beginnings_, chains_, chain_nodes_;
  std::vector<LeftCall> left_calls_;
  std::vector<bool> unit_;
};

}  // namespace

void remove_left_recursion(Program& program) {
  const LeftCallGroups before(program);
  bool recursive = false;
  for (const std::vector<std::uint32_t>& group : before.groups()) {
    if (!before.is_recursive(group)) continue;
    GroupTransform(program, group).run();
    recursive = true;
  }
  if (recursive) drop_unproductive(program);
  const LeftCallGroups after(program);
  auto order = static_cast<std::uint32_t>(program.rules.size());
  for (const std::vector<std::uint32_t>& group : after.groups()) {
    if (after.is_recursive(group))
      throw Error(ErrorKind::kInternal,
                  "left recursion is left in rule \"" + program.rules[group[0]].name + "\"");
    program.rules[group[0]].order = --order;
  }
}

}  // namespace lanner::text::grammar
