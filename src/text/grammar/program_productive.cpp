// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include "core/error.h"
#include "text/grammar/program.h"

namespace lanner::text::grammar {

namespace {

/// Marks nodes from which the end of their rule can be reached, and rules that can be completed.
class Productive {
 public:
  explicit Productive(const Program& program)
      : program_(program), nodes_(program.nodes.size()), rules_(program.rules.size()) {
    for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
      for (const Program::Edge& edge : program.nodes[node].edges) note_user(node, edge);
    }
    for (std::uint32_t rule = 0; rule < rules_.size(); ++rule)
      starts_.push_back({program.rules[rule].start, rule});
    std::ranges::sort(starts_, {}, &Start::node);
    for (std::uint32_t node = 0; node < nodes_.size(); ++node)
      if (program.nodes[node].end) mark(node);
    settle();
    // A repetition can be left once its repeated part can be read.
    for (std::uint32_t node = 0; node < nodes_.size(); ++node)
      if (program.nodes[node].counts) counted_.push_back(node);
    for (bool changed = true; changed;) {
      changed = false;
      program.terms.work().take(1 + counted_.size());
      for (const std::uint32_t node : counted_) {
        const auto& edges = program.nodes[node].edges;
        if (nodes_[node] || edges.empty() || !rules_[edges[0].target]) continue;
        mark(node);
        settle();
        changed = true;
      }
    }
  }

  bool rule(std::uint32_t rule) const { return rules_[rule]; }
  bool edge(const Program::Edge& edge) const {
    return nodes_[edge.next] && (edge.kind != Program::EdgeKind::kCall || rules_[edge.target]);
  }

 private:
  struct Start {
    std::uint32_t node, rule;
  };

  void note_user(std::uint32_t node, const Program::Edge& edge) {
    if (node_users_.empty()) node_users_.resize(nodes_.size()), rule_users_.resize(rules_.size());
    node_users_[edge.next].push_back(node);
    if (edge.kind == Program::EdgeKind::kCall) rule_users_[edge.target].push_back(node);
  }
  void mark(std::uint32_t node) {
    if (nodes_[node]) return;
    nodes_[node] = true;
    open_.push_back(node);
  }
  void recheck(std::uint32_t node) {
    program_.terms.work().take(1 + (nodes_[node] ? 0 : program_.nodes[node].edges.size()));
    if (!nodes_[node] && std::ranges::any_of(program_.nodes[node].edges,
                                             [&](const Program::Edge& edge) { return this->edge(edge); }))
      mark(node);
  }
  void settle() {
    if (node_users_.empty()) node_users_.resize(nodes_.size()), rule_users_.resize(rules_.size());
    while (!open_.empty()) {
      const std::uint32_t node = open_.back();
      open_.pop_back();
      for (const std::uint32_t user : node_users_[node]) recheck(user);
      for (auto it = std::ranges::lower_bound(starts_, node, {}, &Start::node);
           it != starts_.end() && it->node == node; ++it) {
        rules_[it->rule] = true;
        for (const std::uint32_t user : rule_users_[it->rule]) recheck(user);
      }
    }
  }

  const Program& program_;
  std::vector<bool> nodes_, rules_;
  std::vector<std::vector<std::uint32_t>> node_users_, rule_users_;
  std::vector<Start> starts_;
  std::vector<std::uint32_t> counted_, open_;
};

}  // namespace

void drop_unproductive(Program& program) {
  const Productive productive(program);
  const Program::Rule& root = program.rules[program.root];
  if (!root.nullable && !productive.rule(program.root))
    throw Error(ErrorKind::kInvalidArgument, "no text satisfies the grammar: its rules never come to an end");
  for (Program::Node& node : program.nodes)
    std::erase_if(node.edges, [&](const Program::Edge& edge) { return !productive.edge(edge); });
}

}  // namespace lanner::text::grammar
