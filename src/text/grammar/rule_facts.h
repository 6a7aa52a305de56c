// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "text/grammar/grammar_source.h"
#include "text/grammar/terms.h"

namespace lanner::text::grammar {

/// Bytes and byte sets that a regular expression may have to become one automaton.
inline constexpr std::uint32_t kMaxLeafSize = 20'000;

/// What the compiler must know about the rules of a grammar before it builds automata.
class RuleFacts {
 public:
  /// Throws Error kInvalidArgument for rules without a definition. Both must outlive it.
  RuleFacts(const GrammarSource& source, Terms& terms);

  /// The rule is a regular language of its own: it uses neither itself nor markers.
  bool is_leaf(RuleId rule) const { return rules_[rule].leaf; }
  /// The expression may become part of one regular language: it uses only small leaf rules without loops.
  /// (A large one is followed by the parser, part by part. A rule with a loop, such as a JSON string, is
  /// worth an automaton that all its users share.)
  bool is_mergeable(ExprId expr) const { return shapes_[expr]->mergeable; }
  /// How many bytes and byte sets the expression has.
  std::uint32_t size(ExprId expr) const { return shapes_[expr]->size; }
  bool rule_nullable(RuleId rule) const { return rules_[rule].nullable; }
  bool nullable(ExprId id) const;
  /// The regular language of an expression; throws Error kInvalidArgument when it is none.
  TermId term(ExprId id);
  TermId rule_term(RuleId rule);

 private:
  struct Shape {
    bool regular = true;  ///< Apart from recursion.
    bool mergeable = true;
    bool has_loop = false;
    std::uint32_t size = 1;    ///< Bytes and byte sets in it, those of the rules that it uses included.
    std::uint32_t height = 0;  ///< How deep all of that nests.
  };
  struct Rule {
    Shape shape;
    bool leaf = false;
    bool nullable = false;
  };

  void find_leaf_rules(const std::vector<std::vector<RuleId>>& users);
  const Shape& shape(ExprId id);
  Shape find_shape(const Expr& expr);
  void find_nullable_rules(const std::vector<std::vector<RuleId>>& users);
  std::vector<TermId> terms_of(const Expr& expr);

  const GrammarSource& source_;
  Terms& terms_;
  std::vector<Rule> rules_;
  std::vector<std::optional<Shape>> shapes_;  ///< By expression.
  std::unordered_map<RuleId, TermId> rule_terms_;
};

}  // namespace lanner::text::grammar
