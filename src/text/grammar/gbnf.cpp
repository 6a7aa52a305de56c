// SPDX-License-Identifier: MIT
#include "text/grammar/gbnf.h"

#include <fmt/format.h>

#include <limits>
#include <string>
#include <vector>

#include "text/grammar/grammar_parser.h"
#include "text/unicode.h"

namespace lanner::text::grammar {

namespace {

class GbnfParser : private GrammarParser {
 public:
  GbnfParser(std::string_view text, const GrammarVocabulary& vocabulary) : GrammarParser(text, vocabulary) {}

  GrammarSource parse() {
    skip_space(Newlines::kSkip);
    while (!cursor_.at_end()) parse_rule();
    source_.set_root(defined_rule("root"));
    return std::move(source_);
  }

 private:
  enum class Newlines { kStop, kSkip };

  static bool is_name(char c) { return is_letter_or_digit(c) || c == '-' || c == '_'; }

  void skip_space(Newlines newlines) {
    while (true) {
      const char c = cursor_.peek();
      if (c == '#') {
        while (!at_line_end()) cursor_.skip(1);
      } else if (c == ' ' || c == '\t' || (newlines == Newlines::kSkip && (c == '\n' || c == '\r'))) {
        cursor_.skip(1);
      } else {
        return;
      }
    }
  }

  void parse_rule() {
    const std::size_t begin = cursor_.position();
    const std::string name = take_name(is_name);
    skip_space(Newlines::kStop);
    cursor_.expect("::=");
    const RuleId id = new_definition(name, begin);
    skip_space(Newlines::kSkip);
    source_.define(id, parse_alternatives(Newlines::kStop));
    if (!at_line_end()) cursor_.fail("expected the end of the rule");
    skip_space(Newlines::kSkip);
  }

  ExprId parse_alternatives(Newlines newlines) {
    const Cursor::Nested nested(cursor_);
    std::vector<ExprId> ways{parse_sequence(newlines)};
    while (cursor_.take("|")) {
      skip_space(Newlines::kSkip);
      ways.push_back(parse_sequence(newlines));
    }
    return source_.choice(std::move(ways));
  }

  ExprId parse_sequence(Newlines newlines) {
    std::vector<ExprId> parts;
    while (true) {
      const char c = cursor_.peek();
      ExprId part = 0;
      if (c == '"') {
        part = parse_literal();
      } else if (c == '[') {
        part = parse_class();
      } else if (c == '(') {
        cursor_.skip(1);
        skip_space(Newlines::kSkip);
        part = parse_alternatives(Newlines::kSkip);
        cursor_.expect(")");
      } else if (c == '.') {
        cursor_.skip(1);
        part = source_.character(CodePointSet::all());
      } else if (c == '<') {
        part = parse_marker();
      } else if (c == '!' && cursor_.peek(1) == '<') {
        cursor_.unsupported("\"any token but this one\" is not supported");
      } else if (is_name(c)) {
        const std::size_t begin = cursor_.position();
        const std::string name = take_name(is_name);
        const std::size_t behind = cursor_.position();
        skip_space(newlines);
        // The next rule begins here when newlines do not end rules, as inside parentheses they do not.
        if (cursor_.next_is("::=")) cursor_.fail_at(begin, "expected \")\" before the next rule");
        cursor_.go_to(behind);
        part = source_.rule(rule(name, begin));
      } else {
        return source_.sequence(std::move(parts));
      }
      parts.push_back(parse_quantifiers(part, newlines));
    }
  }

  ExprId parse_quantifiers(ExprId part, Newlines newlines) {
    skip_space(newlines);
    for (int count = 0; count <= kMaxNesting; ++count, skip_space(newlines)) {
      if (cursor_.take("*")) {
        part = source_.repeat(part, 0, kUnbounded);
      } else if (cursor_.take("+")) {
        part = source_.repeat(part, 1, kUnbounded);
      } else if (cursor_.take("?")) {
        part = source_.repeat(part, 0, 1);
      } else if (cursor_.take("{")) {
        part = parse_counts(part);
      } else {
        return part;
      }
    }
    cursor_.fail("too many quantifiers");
  }

  ExprId parse_counts(ExprId part) {
    const std::size_t begin = cursor_.position() - 1;
    skip_space(Newlines::kStop);
    const std::uint32_t min = cursor_.take_number(kMaxRepeat);
    std::uint32_t max = min;
    skip_space(Newlines::kStop);
    if (cursor_.take(",")) {
      skip_space(Newlines::kStop);
      max = cursor_.next_is_digit() ? cursor_.take_number(kMaxRepeat) : kUnbounded;
      skip_space(Newlines::kStop);
    }
    cursor_.expect("}");
    if (max < min) cursor_.fail_at(begin, "the upper count is below the lower one");
    return source_.repeat(part, min, max);
  }

  char32_t take_escaped() {
    if (cursor_.peek() != '\\') return cursor_.take_character();
    cursor_.skip(1);
    const char c = cursor_.peek();
    if (cursor_.at_end()) cursor_.fail("unfinished escape");
    cursor_.skip(1);
    switch (c) {
      case 'x':
        return cursor_.take_hex(2);
      case 'u':
        return cursor_.take_hex(4);
      case 'U':
        return cursor_.take_hex(8);
      case 't':
        return '\t';
      case 'r':
        return '\r';
      case 'n':
        return '\n';
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^':
        return static_cast<unsigned char>(c);
      default:
        cursor_.fail_at(cursor_.position() - 2, fmt::format("unknown escape \"\\{}\"", c));
    }
  }

  ExprId parse_literal() {
    const std::size_t begin = cursor_.position();
    cursor_.expect("\"");
    std::string text;
    while (cursor_.peek() != '"') {
      if (cursor_.at_end()) cursor_.fail_at(begin, "the literal has no closing \"");
      append_utf8(text, take_escaped());
    }
    cursor_.skip(1);
    return source_.literal(text);
  }

  ExprId parse_class() {
    const std::size_t begin = cursor_.position();
    cursor_.expect("[");
    const bool negated = cursor_.take("^");
    std::vector<CodePointSet::Range> ranges;
    while (cursor_.peek() != ']') {
      source_.work()->take(kPartWork);
      if (cursor_.at_end()) cursor_.fail_at(begin, "the character class has no closing ]");
      const char32_t first = take_escaped();
      char32_t last = first;
      if (cursor_.peek() == '-' && cursor_.peek(1) != ']' && cursor_.peek(1) != '\0') {
        cursor_.skip(1);
        last = take_escaped();
        if (last < first) cursor_.fail("the range of characters is in the wrong order");
      }
      ranges.push_back({first, last});
    }
    cursor_.skip(1);
    const CodePointSet set = CodePointSet::of(std::move(ranges));
    return source_.character(negated ? set.complement() : set);
  }

  ExprId parse_marker() {
    const std::size_t begin = cursor_.position();
    const std::string_view name = take_marker();
    if (name.starts_with("<[") && name.ends_with("]>")) {
      cursor_.go_to(begin + 2);
      const std::uint32_t id = cursor_.take_number(std::numeric_limits<std::int32_t>::max());
      cursor_.expect("]>");
      if (!vocabulary_.is_marker(static_cast<TokenId>(id)))
        cursor_.fail_at(begin, fmt::format("token {} is no marker of the model", id));
      return marker(static_cast<TokenId>(id), name, begin);
    }
    return marker(name, begin);
  }
};

}  // namespace

GrammarSource parse_gbnf(std::string_view text, const GrammarVocabulary& vocabulary) {
  return GbnfParser(text, vocabulary).parse();
}

}  // namespace lanner::text::grammar
