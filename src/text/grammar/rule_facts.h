// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "text/grammar/grammar_source.h"
#include "text/grammar/terms.h"

namespace lanner::text::grammar {

/// What the compiler must know about the rules of a grammar before it builds automata.
class RuleFacts {
 public:
  /// Throws Error kInvalidArgument for rules without a definition. Both must outlive it.
  RuleFacts(const GrammarSource& source, Terms& terms);

  /// The rule is a regular language of its own: it uses neither itself nor markers.
  bool is_leaf(RuleId rule) const { return rules_[rule].leaf; }
  /// The expression may become part of one regular language: it uses only small leaf rules without loops.
  /// (A rule with a loop, such as a JSON string, is worth an automaton that all its users share.)
  bool is_mergeable(ExprId expr) const { return mergeable_[expr] != 0; }
  bool rule_nullable(RuleId rule) const { return rules_[rule].nullable; }
  bool nullable(ExprId id) const;
  /// The regular language of an expression; throws Error kInvalidArgument when it is none.
  TermId term(ExprId id);
  TermId rule_term(RuleId rule);

 private:
  struct Rule {
    bool leaf = false;
    bool has_loop = false;
    bool nullable = false;
  };
  struct Shape {
    bool regular = true;  ///< Apart from recursion.
    bool mergeable = true;
    bool has_loop = false;
  };

  void find_leaf_rules(const std::vector<std::vector<RuleId>>& users);
  Shape shape(ExprId id);
  void find_nullable_rules(const std::vector<std::vector<RuleId>>& users);
  std::vector<TermId> terms_of(const Expr& expr);

  const GrammarSource& source_;
  Terms& terms_;
  std::vector<Rule> rules_;
  std::vector<std::uint8_t> mergeable_;
  std::unordered_map<RuleId, TermId> rule_terms_;
};

}  // namespace lanner::text::grammar
