// SPDX-License-Identifier: MIT
#include "text/grammar/rule_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace lanner::text::grammar {

namespace {

/// A repetition of at most so many times does not count as a loop.
constexpr std::uint32_t kShortRepeat = 64;

/// How deep the rules nest that become one regular language: what walks over them recurses.
constexpr std::uint32_t kMaxHeight = 2000;

/// A size that is larger than any that matters.
constexpr std::uint64_t kVast = 1U << 30;

using Kind = Expr::Kind;

/// Calls `visit(rule)` for every rule the expression uses.
template <typename Visit>
void each_rule(const GrammarSource& source, ExprId root, const Visit& visit) {
  std::vector<ExprId> open{root};
  while (!open.empty()) {
    const Expr& expr = source.expr(open.back());
    open.pop_back();
    source.work()->take(1);
    if (expr.kind == Kind::kRule) visit(expr.rule);
    open.insert(open.end(), expr.children.begin(), expr.children.end());
  }
}

}  // namespace

RuleFacts::RuleFacts(const GrammarSource& source, Terms& terms)
    : source_(source), terms_(terms), rules_(source.rule_count()), shapes_(source.expr_count()) {
  for (RuleId rule = 0; rule < rules_.size(); ++rule)
    if (!source.is_defined(rule))
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("rule \"{}\" is used but has no definition", source.name(rule)));
  std::vector<std::vector<RuleId>> users(rules_.size());
  for (RuleId rule = 0; rule < rules_.size(); ++rule)
    each_rule(source, source.body(rule), [&](RuleId used) { users[used].push_back(rule); });
  find_leaf_rules(users);
  find_nullable_rules(users);
}

/// Rules from those that use no other up: a rule in a cycle of uses is never reached.
void RuleFacts::find_leaf_rules(const std::vector<std::vector<RuleId>>& users) {
  std::vector<std::uint32_t> waiting(rules_.size());
  for (RuleId rule = 0; rule < rules_.size(); ++rule)
    each_rule(source_, source_.body(rule), [&](RuleId) { ++waiting[rule]; });
  std::vector<RuleId> ready;
  for (RuleId rule = 0; rule < rules_.size(); ++rule)
    if (waiting[rule] == 0) ready.push_back(rule);
  std::vector<bool> reached(rules_.size());
  while (!ready.empty()) {
    const RuleId rule = ready.back();
    ready.pop_back();
    reached[rule] = true;
    rules_[rule].shape = shape(source_.body(rule));
    rules_[rule].leaf = rules_[rule].shape.regular && rules_[rule].shape.mergeable;
    for (const RuleId user : users[rule])
      if (--waiting[user] == 0) ready.push_back(user);
  }
  for (RuleId rule = 0; rule < rules_.size(); ++rule)
    if (!reached[rule]) shape(source_.body(rule));
}

const RuleFacts::Shape& RuleFacts::shape(ExprId id) {
  if (!shapes_[id]) shapes_[id] = find_shape(source_.expr(id));
  return *shapes_[id];
}

RuleFacts::Shape RuleFacts::find_shape(const Expr& expr) {
  Shape result;
  std::uint64_t size = std::max<std::size_t>(expr.literal.size(), 1);
  for (const ExprId child : expr.children) {
    const Shape& part = shape(child);
    result.regular = result.regular && part.regular;
    result.mergeable = result.mergeable && part.mergeable;
    result.has_loop = result.has_loop || part.has_loop;
    result.height = std::max(result.height, part.height + 1);
    size = std::min(size + part.size, kVast);
  }
  switch (expr.kind) {
    case Kind::kMarker:
    case Kind::kOtherMarkers:
      result.regular = result.mergeable = false;
      break;
    case Kind::kRule:
      result = rules_[expr.rule].shape;
      ++result.height;
      result.regular = rules_[expr.rule].leaf;
      result.mergeable = result.regular && !result.has_loop;
      size = result.size;
      break;
    case Kind::kRepeat:
      if (expr.max > kShortRepeat) result.has_loop = true;
      break;
    default:
      break;
  }
  result.size = static_cast<std::uint32_t>(size);
  if (result.size > kMaxLeafSize || result.height > kMaxHeight) result.mergeable = false;
  if (expr.kind == Kind::kBoth || expr.kind == Kind::kComplement)
    result.mergeable = true;  // term() reports what is not regular.
  return result;
}

bool RuleFacts::nullable(ExprId id) const {
  const Expr& expr = source_.expr(id);
  source_.work()->take(1);
  const auto child = [&](ExprId other) { return nullable(other); };
  switch (expr.kind) {
    case Kind::kEmpty:
    case Kind::kMultiple:
      return true;
    case Kind::kSequence:
    case Kind::kBoth:
      return std::ranges::all_of(expr.children, child);
    case Kind::kChoice:
      return std::ranges::any_of(expr.children, child);
    case Kind::kRepeat:
      return expr.min == 0 || nullable(expr.children[0]);
    case Kind::kComplement:
      return !nullable(expr.children[0]);
    case Kind::kRule:
      return rules_[expr.rule].nullable;
    default:
      return false;
  }
}

void RuleFacts::find_nullable_rules(const std::vector<std::vector<RuleId>>& users) {
  std::vector<RuleId> open(rules_.size());
  for (RuleId rule = 0; rule < rules_.size(); ++rule) open[rule] = rule;
  while (!open.empty()) {
    const RuleId rule = open.back();
    open.pop_back();
    if (rules_[rule].nullable || !nullable(source_.body(rule))) continue;
    rules_[rule].nullable = true;
    open.insert(open.end(), users[rule].begin(), users[rule].end());
  }
}

TermId RuleFacts::rule_term(RuleId rule) {
  const auto known = rule_terms_.find(rule);
  if (known != rule_terms_.end()) return known->second;
  if (!rules_[rule].leaf)
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("rule \"{}\" is used where only a regular expression may be", source_.name(rule)));
  const TermId term = this->term(source_.body(rule));
  rule_terms_.emplace(rule, term);
  return term;
}

std::vector<TermId> RuleFacts::terms_of(const Expr& expr) {
  std::vector<TermId> result;
  for (const ExprId child : expr.children) result.push_back(term(child));
  return result;
}

TermId RuleFacts::term(ExprId id) {
  const Expr& expr = source_.expr(id);
  source_.work()->take(1);
  switch (expr.kind) {
    case Kind::kNothing:
      return terms_.nothing();
    case Kind::kEmpty:
      return terms_.empty();
    case Kind::kByteSet:
      return terms_.bytes(expr.set);
    case Kind::kLiteral: {
      TermId result = terms_.empty();
      for (std::size_t i = expr.literal.size(); i-- > 0;)
        result =
            terms_.sequence(terms_.bytes(ByteSet::of(static_cast<std::uint8_t>(expr.literal[i]))), result);
      return result;
    }
    case Kind::kSequence: {
      TermId result = terms_.empty();
      for (std::size_t i = expr.children.size(); i-- > 0;)
        result = terms_.sequence(term(expr.children[i]), result);
      return result;
    }
    case Kind::kChoice:
      return terms_.choice(terms_of(expr));
    case Kind::kBoth:
      return terms_.both(terms_of(expr));
    case Kind::kComplement:
      return terms_.complement(term(expr.children[0]));
    case Kind::kRepeat:
      return terms_.repeat(term(expr.children[0]), expr.min, expr.max);
    case Kind::kRule:
      return rule_term(expr.rule);
    case Kind::kMultiple:
      return terms_.multiple(expr.multiple);
    default:
      throw Error(ErrorKind::kInvalidArgument, "a marker is used where only a regular expression may be");
  }
}

}  // namespace lanner::text::grammar
