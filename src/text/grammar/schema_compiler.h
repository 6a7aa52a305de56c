// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/grammar/grammar.h"
#include "text/grammar/json_text.h"
#include "text/grammar/schema_facts.h"

namespace lanner::text::grammar {

/// Writes the grammar of a schema document's values, one rule per conjunction of schemas and depth.
class SchemaCompiler {
 public:
  SchemaCompiler(const SchemaDocument& document, GrammarSource& source, JsonSpelling spelling)
      : document_(document), source_(source), text_(source, spelling) {}

  /// A value that satisfies all the schemas; an object's members are `depth` levels deep. It is complete only
  /// after finish().
  ExprId value(const Conjunction& conjunction, int depth);
  /// Writes the rules that have been asked for, and those that they need.
  void finish();
  /// The text between the quotes of strings that satisfy all the schemas.
  ExprId string_body(const Conjunction& conjunction);

  /// A property that some schema declares or requires.
  struct Property {
    std::string name;
    std::optional<Conjunction> schemas;  ///< None when one forbids it.
    bool required = false;
  };
  /// In the order in which objects have them.
  std::vector<Property> properties(const SchemaFacts& facts);
  /// What properties that no schema names must be; none when there may be none.
  std::optional<Conjunction> additional(const SchemaFacts& facts);

 private:
  friend class ObjectCompiler;

  ExprId alternative(const SchemaFacts& facts, int depth);
  ExprId constants(const SchemaFacts& facts, int depth);
  ExprId number(const SchemaFacts& facts);
  ExprId string_text(const SchemaFacts& facts);
  ExprId array(const SchemaFacts& facts, int depth);
  ExprId object(const SchemaFacts& facts, int depth);
  Conjunction item_schemas(const SchemaFacts& facts, std::size_t index) const;
  ExprId items_after(const SchemaFacts& facts, std::size_t prefix, int depth);
  /// Characters of a pattern of `schema`'s keyword, for "pattern" and the keys of patternProperties.
  ExprId pattern(const OrderedJson& schema, std::string_view keyword, const std::string& expression);

  const SchemaDocument& document_;
  GrammarSource& source_;
  JsonText text_;
  std::map<std::pair<Conjunction, int>, RuleId> rules_;
  struct Open {
    RuleId rule;
    Conjunction conjunction;
    int depth;
  };
  std::vector<Open> open_;  ///< Rules without a body yet: chains of references need no stack.
};

/// A grammar over no vocabulary, to try texts on: what `root` of `source` accepts. Nothing when no text
/// satisfies it.
std::shared_ptr<const Grammar> text_grammar(GrammarSource source, ExprId root);

}  // namespace lanner::text::grammar
