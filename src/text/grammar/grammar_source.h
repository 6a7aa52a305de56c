// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/token.h"
#include "text/grammar/byte_set.h"
#include "text/grammar/code_points.h"
#include "text/grammar/terms.h"

namespace lanner::text::grammar {

using ExprId = std::uint32_t;
using RuleId = std::uint32_t;

/// One node of a rule's right side.
struct Expr {
  enum class Kind : std::uint8_t {
    kNothing,       ///< No text.
    kEmpty,         ///< The empty text.
    kLiteral,       ///< `literal`.
    kByteSet,       ///< One byte of `set`.
    kSequence,      ///< `children` one after another.
    kChoice,        ///< One of `children`.
    kRepeat,        ///< children[0], `min`..`max` times.
    kRule,          ///< What `rule` stands for.
    kMarker,        ///< The marker token `token`.
    kOtherMarkers,  ///< Any marker token but `tokens` and the stop tokens.
    kBoth,          ///< Texts that every one of `children` has; they must be regular.
    kComplement,    ///< Texts that children[0] has not; it must be regular.
    kMultiple,      ///< Decimal texts that are a multiple.
  };
  Kind kind = Kind::kNothing;
  std::string literal = {};
  ByteSet set = {};
  std::vector<ExprId> children = {};
  std::uint32_t min = 0, max = 0;
  RuleId rule = 0;
  TokenId token = 0;
  std::vector<TokenId> tokens = {};
  MultipleState multiple = {};
  std::uint32_t depth = 1;  ///< Of `children`, and one more.
};

/// A grammar as its front end writes it: rules over bytes and marker tokens. Every front end produces one.
class GrammarSource {
 public:
  /// Writing and compiling it count as `work`, which parts of one request share. Everything here throws Error
  /// GrammarLimit when too little is left.
  explicit GrammarSource(std::shared_ptr<Work> work = std::make_shared<Work>(kCompileWork))
      : work_(std::move(work)) {}
  const std::shared_ptr<Work>& work() const { return work_; }

  ExprId nothing() { return add({.kind = Expr::Kind::kNothing}); }
  ExprId empty() { return add({.kind = Expr::Kind::kEmpty}); }
  ExprId literal(std::string_view text);
  ExprId byte_set(const ByteSet& set) { return add({.kind = Expr::Kind::kByteSet, .set = set}); }
  /// One character of the set, in UTF-8.
  ExprId character(const CodePointSet& set);
  ExprId sequence(std::vector<ExprId> parts);
  ExprId choice(std::vector<ExprId> ways);
  /// The literal texts, sharing their beginnings.
  ExprId literals(std::vector<std::string> texts);
  ExprId repeat(ExprId expr, std::uint32_t min, std::uint32_t max);
  ExprId optional(ExprId expr) { return repeat(expr, 0, 1); }
  ExprId marker(TokenId token) { return add({.kind = Expr::Kind::kMarker, .token = token}); }
  ExprId other_markers(std::vector<TokenId> but) {
    return add({.kind = Expr::Kind::kOtherMarkers, .tokens = std::move(but)});
  }
  ExprId both(std::vector<ExprId> exprs) {
    return add({.kind = Expr::Kind::kBoth, .children = std::move(exprs)});
  }
  ExprId complement(ExprId expr) { return add({.kind = Expr::Kind::kComplement, .children = {expr}}); }
  ExprId multiple(const MultipleState& state) {
    return add({.kind = Expr::Kind::kMultiple, .multiple = state});
  }
  /// Any bytes, also none.
  ExprId any_text() { return repeat(byte_set(ByteSet::all()), 0, kUnbounded); }
  /// Any text that ends with `end` and has no `end` before.
  ExprId until(std::string_view end);

  ExprId rule(RuleId rule) { return add({.kind = Expr::Kind::kRule, .rule = rule}); }
  RuleId add_rule(std::string name);
  void define(RuleId rule, ExprId body) {
    rules_[rule].body = body;
    rules_[rule].defined = true;
  }
  ExprId add_and_reference(std::string name, ExprId body);

  void set_root(RuleId root) { root_ = root; }
  RuleId root() const { return root_; }
  const Expr& expr(ExprId id) const { return exprs_[id]; }
  std::size_t expr_count() const { return exprs_.size(); }
  std::size_t rule_count() const { return rules_.size(); }
  ExprId body(RuleId rule) const { return rules_[rule].body; }
  bool is_defined(RuleId rule) const { return rules_[rule].defined; }
  const std::string& name(RuleId rule) const { return rules_[rule].name; }

 private:
  struct Rule {
    std::string name = {};
    ExprId body = 0;
    bool defined = false;
  };

  ExprId add(Expr expr);
  ExprId add_choice(std::vector<ExprId> ways);
  ExprId write_character(const CodePointSet& set);
  ExprId utf8_range(char32_t first, char32_t last);
  ExprId shared_prefixes(std::span<const std::string> sorted, std::size_t from, int depth);

  std::shared_ptr<Work> work_;
  std::vector<Expr> exprs_;
  std::map<std::vector<CodePointSet::Range>, ExprId> characters_;
  std::vector<Rule> rules_;
  RuleId root_ = 0;
};

}  // namespace lanner::text::grammar
