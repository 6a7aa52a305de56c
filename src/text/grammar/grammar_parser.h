// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "text/grammar/cursor.h"
#include "text/grammar/grammar_source.h"
#include "text/grammar/vocabulary.h"

namespace lanner::text::grammar {

/// What the parsers of all dialects keep: their place in the text, the rules by name, and the grammar that
/// they write. Names may be used before they are defined.
class GrammarParser {
 protected:
  /// Both must outlive it.
  GrammarParser(std::string_view text, const GrammarVocabulary& vocabulary)
      : cursor_(text, "grammar"), vocabulary_(vocabulary) {}

  static bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  }
  bool at_line_end() const { return cursor_.at_end() || cursor_.peek() == '\n' || cursor_.peek() == '\r'; }
  /// Characters of which `is_name` holds, one at least.
  std::string take_name(bool (*is_name)(char));

  /// The rule with this name; `position` is where it was named.
  RuleId rule(const std::string& name, std::size_t position);
  /// The same for a definition at `position`; there may be one only.
  RuleId new_definition(const std::string& name, std::size_t position);
  /// Fails where a rule is used that is not defined, or when there is none with the name.
  RuleId defined_rule(const std::string& name) const;

  /// The text of a marker `<...>`.
  std::string_view take_marker();
  /// The marker token with this name, which was read at `position`.
  ExprId marker(std::string_view name, std::size_t position);
  ExprId marker(TokenId id, std::string_view name, std::size_t position);

  Cursor cursor_;
  const GrammarVocabulary& vocabulary_;
  GrammarSource source_;

 private:
  struct RuleUse {
    RuleId id = 0;
    std::size_t position = 0;
  };
  std::unordered_map<std::string, RuleUse> rules_;
};

}  // namespace lanner::text::grammar
