// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/token.h"
#include "text/grammar/grammar_source.h"
#include "text/grammar/terms.h"

namespace lanner::text::grammar {

/// A grammar compiled to one automaton per rule: nodes joined by edges that read a regular language, a call
/// of another rule, or a marker token. No edge reads nothing and no rule calls itself before it has read
/// something: empty rules are edges left out, left recursion has been turned around.
struct Program {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  /// The node where a rule ends and nothing else can follow.
  static constexpr std::uint32_t kEndNode = 0;
  /// Edge::count: the counted node that the edge leaves, plus one.
  static constexpr std::uint32_t kCountUp = ~std::uint32_t{0};

  enum class EdgeKind : std::uint8_t { kLeaf, kCall, kMarker, kOtherMarkers };
  struct Edge {
    EdgeKind kind = EdgeKind::kLeaf;
    std::uint32_t target = 0;  ///< Index of a leaf, rule or marker list; or a token id.
    std::uint32_t next = 0;    ///< Node behind it.
    std::uint32_t count = 0;   ///< For a counted `next`: how often its rule has been read there.
    friend auto operator<=>(const Edge&, const Edge&) = default;
  };
  /// A node that counts belongs to a repetition: it may be left from `min` on and repeats up to `max` times.
  struct Node {
    std::vector<Edge> edges;
    bool end = false;  ///< The rule may end here.
    bool counts = false;
    std::uint32_t min = 0, max = 0;
  };
  struct Rule {
    std::string name;
    std::uint32_t start = 0;  ///< Its `end` is never set: see nullable.
    bool nullable = false;
    std::uint32_t order = 0;  ///< A rule comes before those that it calls at its start.
  };

  Terms terms;
  std::vector<TermId> leaves;
  std::vector<std::vector<TokenId>> other_markers;  ///< Per list, the markers that are not meant.
  std::vector<Node> nodes;
  std::vector<Rule> rules;
  std::uint32_t root = 0;
};

/// Throws Error kInvalidArgument: undefined rules, a grammar that no text satisfies, or one that is too
/// large.
Program compile(GrammarSource source);

/// Removes what can never be completed. Throws Error kInvalidArgument when nothing is left.
void drop_unproductive(Program& program);

/// Replaces left recursion by recursion to the right, and orders the rules.
/// Source: the left-corner transform as in Moore, "Removing left recursion from context-free grammars", 2000,
/// on automata: a rule of a left-recursive group is one of the group's beginnings, then a chain of the tails
/// that lead from each rule of the group to the next.
void remove_left_recursion(Program& program);

}  // namespace lanner::text::grammar
