// SPDX-License-Identifier: MIT
#include <algorithm>
#include <unordered_map>

#include "core/error.h"
#include "text/grammar/program.h"
#include "text/grammar/rule_facts.h"

namespace lanner::text::grammar {

namespace {

using Kind = Expr::Kind;
using EdgeKind = Program::EdgeKind;

bool mentions(const GrammarSource& source, ExprId root, RuleId rule) {
  std::vector<ExprId> open{root};
  while (!open.empty()) {
    const Expr& expr = source.expr(open.back());
    open.pop_back();
    source.work()->take(1);
    if (expr.kind == Kind::kRule && expr.rule == rule) return true;
    open.insert(open.end(), expr.children.begin(), expr.children.end());
  }
  return false;
}

/// Turns `r ::= a r | b` into `r ::= a* b` and `r ::= r a | b` into `r ::= b a*`: loops can become regular
/// languages, recursion cannot.
void loop_instead_of_recursion(GrammarSource& source, RuleId rule) {
  const Expr body = source.expr(source.body(rule));
  std::vector<ExprId> ways{source.body(rule)}, bases, right, left;
  if (body.kind == Kind::kChoice) ways = body.children;
  if (body.kind == Kind::kRepeat && body.min == 0 && body.max == 1) {
    ways = {body.children[0]};
    bases.push_back(source.empty());
  }
  for (const ExprId way : ways) {
    if (!mentions(source, way, rule)) {
      bases.push_back(way);
      continue;
    }
    const Expr expr = source.expr(way);
    if (expr.kind != Kind::kSequence || expr.children.size() < 2) return;
    const auto is_self = [&](ExprId child) {
      return source.expr(child).kind == Kind::kRule && source.expr(child).rule == rule;
    };
    const bool at_end = is_self(expr.children.back());
    if (!at_end && !is_self(expr.children.front())) return;
    std::vector<ExprId> others = expr.children;
    others.erase(at_end ? others.end() - 1 : others.begin());
    const ExprId other = source.sequence(std::move(others));
    if (mentions(source, other, rule)) return;
    (at_end ? right : left).push_back(other);
  }
  if (right.empty() == left.empty()) return;
  const ExprId base = source.choice(std::move(bases));
  const ExprId loop = source.repeat(source.choice(right.empty() ? left : right), 0, kUnbounded);
  source.define(rule, right.empty() ? source.sequence({base, loop}) : source.sequence({loop, base}));
}

/// Builds the automata of all rules that the root needs, at first with empty steps between nodes.
class ProgramCompiler {
 public:
  explicit ProgramCompiler(const GrammarSource& source) : source_(source), facts_(source, program_.terms) {
    program_.terms.count_in(source.work());
  }

  Program compile() {
    add_node();  // kEndNode
    const std::uint32_t root = rule_of(source_.root());
    while (!open_rules_.empty()) {
      const auto [rule, body, start] = open_rules_.back();
      open_rules_.pop_back();
      build(body, start, Program::kEndNode);
      program_.rules[rule].start = start;
    }
    close_empty_steps();
    program_.root = root;
    return std::move(program_);
  }

 private:
  struct OpenRule {
    std::uint32_t rule;
    ExprId body;
    std::uint32_t start;
  };

  std::uint32_t add_node() {
    work().take(2 * kPartWork);
    program_.nodes.emplace_back();
    steps_.emplace_back();
    return static_cast<std::uint32_t>(steps_.size() - 1);
  }
  Work& work() const { return *source_.work(); }
  void step(std::uint32_t from, std::uint32_t to) { steps_[from].push_back(to); }
  void edge(std::uint32_t from, EdgeKind kind, std::uint32_t target, std::uint32_t to) {
    work().take(kPartWork);
    program_.nodes[from].edges.push_back({.kind = kind, .target = target, .next = to});
  }

  void leaf(TermId term, std::uint32_t from, std::uint32_t to) {
    if (program_.terms.nullable(term)) step(from, to);
    if (term == program_.terms.empty() || !program_.terms.alive(term)) return;
    const auto [known, added] = leaves_.emplace(term, static_cast<std::uint32_t>(program_.leaves.size()));
    if (added) program_.leaves.push_back(term);
    edge(from, EdgeKind::kLeaf, known->second, to);
  }

  std::uint32_t open_rule(std::string name, ExprId body, bool nullable) {
    work().take(2 * kPartWork);
    const auto id = static_cast<std::uint32_t>(program_.rules.size());
    program_.rules.push_back({.name = std::move(name), .nullable = nullable});
    open_rules_.push_back({id, body, add_node()});
    return id;
  }

  std::uint32_t rule_of(RuleId rule) {
    const auto known = rules_.find(rule);
    if (known != rules_.end()) return known->second;
    const std::uint32_t id = open_rule(source_.name(rule), source_.body(rule), facts_.rule_nullable(rule));
    rules_.emplace(rule, id);
    return id;
  }

  void call(std::uint32_t rule, std::uint32_t from, std::uint32_t to) {
    edge(from, EdgeKind::kCall, rule, to);
    if (program_.rules[rule].nullable) step(from, to);
  }

  void build(ExprId id, std::uint32_t from, std::uint32_t to) {
    if (facts_.is_mergeable(id)) return leaf(facts_.term(id), from, to);
    const Expr& expr = source_.expr(id);
    switch (expr.kind) {
      case Kind::kSequence:
        return build_sequence(expr, from, to);
      case Kind::kChoice:
        return build_choice(expr, from, to);
      case Kind::kRepeat:
        return build_repeat(expr, from, to);
      case Kind::kRule:
        if (facts_.is_leaf(expr.rule)) return leaf(facts_.rule_term(expr.rule), from, to);
        return call(rule_of(expr.rule), from, to);
      case Kind::kMarker:
        return edge(from, EdgeKind::kMarker, static_cast<std::uint32_t>(expr.token), to);
      case Kind::kOtherMarkers:
        program_.other_markers.push_back(expr.tokens);
        return edge(from, EdgeKind::kOtherMarkers,
                    static_cast<std::uint32_t>(program_.other_markers.size() - 1), to);
      default:
        return leaf(facts_.term(id), from, to);
    }
  }

  /// Neighbours that are regular become one leaf.
  void build_sequence(const Expr& expr, std::uint32_t from, std::uint32_t to) {
    const std::vector<ExprId>& parts = expr.children;
    for (std::size_t i = 0; i < parts.size();) {
      std::size_t end = i;
      TermId term = program_.terms.empty();
      for (std::uint32_t size = 0; end < parts.size() && facts_.is_mergeable(parts[end]); ++end) {
        size += facts_.size(parts[end]);
        if (size > kMaxLeafSize && end > i) break;
      }
      for (std::size_t j = end; j-- > i;) term = program_.terms.sequence(facts_.term(parts[j]), term);
      const bool merged = end > i;
      if (!merged) ++end;
      const std::uint32_t next = end == parts.size() ? to : add_node();
      if (merged)
        leaf(term, from, next);
      else
        build(parts[i], from, next);
      from = next;
      i = end;
    }
  }

  void build_choice(const Expr& expr, std::uint32_t from, std::uint32_t to) {
    std::vector<TermId> terms;
    std::uint32_t size = 0;
    const auto add_leaf = [&] {
      if (!terms.empty()) leaf(program_.terms.choice(terms), from, to);
      terms.clear();
      size = 0;
    };
    for (const ExprId way : expr.children) {
      if (!facts_.is_mergeable(way)) {
        build(way, from, to);
        continue;
      }
      size += facts_.size(way);
      if (size > kMaxLeafSize) add_leaf();
      terms.push_back(facts_.term(way));
    }
    add_leaf();
  }

  void build_repeat(const Expr& expr, std::uint32_t from, std::uint32_t to) {
    const ExprId body = expr.children[0];
    if (expr.min == 0) step(from, to);
    if (expr.max == 1) return build(body, from, to);
    if (expr.min <= 1 && expr.max == kUnbounded) {
      const std::uint32_t begin = add_node(), end = add_node();
      step(from, begin);
      build(body, begin, end);
      step(end, begin);
      return step(end, to);
    }
    const bool nullable = facts_.nullable(body);
    const std::uint32_t unit = open_rule("repeated part", body, nullable);
    const auto id = static_cast<std::uint32_t>(program_.rules.size());
    const std::uint32_t start = add_node(), loop = add_node();
    program_.rules.push_back({.name = "repetition", .start = start, .nullable = nullable || expr.min == 0});
    program_.nodes[start].edges.push_back(
        {.kind = EdgeKind::kCall, .target = unit, .next = loop, .count = 1});
    Program::Node& node = program_.nodes[loop];
    node.counts = true;
    node.min = nullable ? 0 : expr.min;
    node.max = expr.max;
    node.edges.push_back({.kind = EdgeKind::kCall, .target = unit, .next = loop, .count = Program::kCountUp});
    call(id, from, to);
  }

  /// Gives every node the edges that it reaches over empty steps.
  void close_empty_steps() {
    std::vector<Program::Node> closed(program_.nodes.size());
    std::vector<std::uint32_t> seen(program_.nodes.size(), Program::kNone);
    for (std::uint32_t node = 0; node < closed.size(); ++node) {
      closed[node] = program_.nodes[node];
      if (node != Program::kEndNode && steps_[node].empty()) continue;
      closed[node].edges.clear();
      std::vector<std::uint32_t> open{node};
      seen[node] = node;
      while (!open.empty()) {
        const std::uint32_t at = open.back();
        open.pop_back();
        work().take(1 + 4 * program_.nodes[at].edges.size() + steps_[at].size());
        if (at == Program::kEndNode) closed[node].end = true;
        const auto& edges = program_.nodes[at].edges;
        closed[node].edges.insert(closed[node].edges.end(), edges.begin(), edges.end());
        for (const std::uint32_t to : steps_[at]) {
          if (seen[to] == node) continue;
          seen[to] = node;
          open.push_back(to);
        }
      }
      std::vector<Program::Edge>& edges = closed[node].edges;
      std::ranges::sort(edges);
      edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    }
    for (const Program::Rule& rule : program_.rules) closed[rule.start].end = false;
    program_.nodes = std::move(closed);
    std::vector<std::uint32_t> final_node(program_.nodes.size());
    for (std::uint32_t node = 0; node < final_node.size(); ++node) {
      const Program::Node& it = program_.nodes[node];
      final_node[node] = it.end && it.edges.empty() && !it.counts ? Program::kEndNode : node;
    }
    for (Program::Node& node : program_.nodes)
      for (Program::Edge& edge : node.edges) edge.next = final_node[edge.next];
  }

  Program program_;
  const GrammarSource& source_;
  RuleFacts facts_;
  std::unordered_map<RuleId, std::uint32_t> rules_;
  std::unordered_map<TermId, std::uint32_t> leaves_;
  std::vector<std::vector<std::uint32_t>> steps_;
  std::vector<OpenRule> open_rules_;
};

}  // namespace

Program compile(GrammarSource source) {
  for (RuleId rule = 0; rule < source.rule_count(); ++rule)
    if (source.is_defined(rule)) loop_instead_of_recursion(source, rule);
  Program program = ProgramCompiler(source).compile();
  drop_unproductive(program);
  remove_left_recursion(program);
  return program;
}

}  // namespace lanner::text::grammar
