// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "text/grammar/code_points.h"
#include "text/grammar/grammar_source.h"
#include "text/grammar/regex.h"

namespace lanner::text::grammar {

/// White space in generated JSON.
enum class JsonWhitespace : std::uint8_t {
  /// Inside braces and brackets, behind commas and colons: nothing, one space, or one newline with at most
  /// 4 spaces for each level of depth. So a model can print JSON its way but not fill its budget with blanks.
  kFlexible,
  kCompact,  ///< None.
};

/// How values are spelled.
struct JsonSpelling {
  JsonWhitespace whitespace = JsonWhitespace::kFlexible;
  /// Set for Gemma's tool arguments: strings stand between two of this marker token and hold any text as it
  /// is, keys are bare.
  std::optional<TokenId> quote_marker = std::nullopt;
  /// A regular expression that no string may match anywhere: what would end the value around it.
  std::string_view barred = {};
};

/// Deepest level that white space still grows with.
inline constexpr int kMaxIndentDepth = 16;

/// The parts of JSON text as expressions of one grammar; what is asked for twice is shared.
class JsonText {
 public:
  JsonText(GrammarSource& source, JsonSpelling spelling) : source_(source), spelling_(spelling) {}

  const JsonSpelling& spelling() const { return spelling_; }
  /// White space at a place `depth` levels deep.
  ExprId space(int depth);
  /// One character inside a string: itself or any escape for it, surrogates in pairs.
  ExprId any_character();
  /// Writes one character of a set as a printer does: escaped only where it must be.
  WriteCharacter printed_character() const;
  /// Any string, with its quotes.
  ExprId any_string();
  /// `body`, made of characters as above, between quotes.
  ExprId quoted(ExprId body);
  /// Those of the texts that hold nothing barred.
  ExprId unbarred(ExprId texts);
  /// A key with the given name; a key of given characters; any key.
  ExprId key(std::string_view name);
  ExprId key_of(ExprId body);
  ExprId any_key();
  /// Any text of key_of().
  ExprId any_key_body();
  /// The text of a name between the quotes.
  std::string printed(std::string_view name) const;
  /// The value itself, `depth` levels deep.
  ExprId constant(const nlohmann::ordered_json& value, int depth);
  /// Any number of at most 17 digits and an exponent that a double can hold.
  ExprId any_number();
  /// Any integer of at most 17 digits.
  ExprId any_integer();
  /// Any value, any object, any array; their own text is `depth` levels deep.
  ExprId any_value(int depth);
  ExprId any_object(int depth);
  ExprId any_array(int depth);

  /// "{" or "[", white space, `inner`, white space and the closing one; just white space where there is no
  /// `inner`.
  ExprId enclosed(std::string_view open, std::optional<ExprId> inner, std::string_view close, int depth);
  /// A comma and the white space behind it; a colon likewise.
  ExprId comma(int depth) { return source_.sequence({source_.literal(","), space(depth)}); }
  ExprId colon(int depth) { return source_.sequence({source_.literal(":"), space(depth)}); }
  /// `depth` as far as it matters.
  int depth_class(int depth) const;

 private:
  enum class Part { kSpace, kCharacter, kString, kKey, kNumber, kInteger, kValue, kObject, kArray };
  /// Defines the rule of a part at its first use.
  template <typename Body>
  ExprId shared(Part part, int depth, const char* name, const Body& body);

  GrammarSource& source_;
  JsonSpelling spelling_;
  std::map<std::pair<Part, int>, RuleId> rules_;
  std::optional<ExprId> harmless_;  ///< Texts without anything barred.
};

/// The text between the quotes of a JSON string.
std::string printed_string(std::string_view text);

}  // namespace lanner::text::grammar
