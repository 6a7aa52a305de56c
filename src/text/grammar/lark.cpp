// SPDX-License-Identifier: MIT
#include "text/grammar/lark.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "text/grammar/grammar_parser.h"
#include "text/grammar/regex.h"
#include "text/unicode.h"

namespace lanner::text::grammar {

namespace {

/// Terminals of Lark's "common" module, as expressions.
constexpr std::pair<std::string_view, std::string_view> kCommon[] = {
    {"DIGIT", "[0-9]"},
    {"HEXDIGIT", "[a-fA-F0-9]"},
    {"INT", "[0-9]+"},
    {"SIGNED_INT", "[+-]?[0-9]+"},
    {"DECIMAL", "[0-9]+\\.[0-9]*|\\.[0-9]+"},
    {"FLOAT", "[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?"},
    {"SIGNED_FLOAT", "[+-]?(?:[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"},
    {"NUMBER", "[0-9]+(?:[eE][+-]?[0-9]+)?|(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?"},
    {"SIGNED_NUMBER",
     "[+-]?(?:[0-9]+(?:[eE][+-]?[0-9]+)?|(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"},
    {"ESCAPED_STRING", "\"(?:[^\"\\\\\\n]|\\\\[^\\n])*\""},
    {"LCASE_LETTER", "[a-z]"},
    {"UCASE_LETTER", "[A-Z]"},
    {"LETTER", "[a-zA-Z]"},
    {"WORD", "[a-zA-Z]+"},
    {"CNAME", "[_a-zA-Z][_a-zA-Z0-9]*"},
    {"WS_INLINE", "[ \\t]+"},
    {"WS", "[ \\t\\f\\r\\n]+"},
    {"CR", "\\r"},
    {"LF", "\\n"},
    {"NEWLINE", "(?:\\r?\\n)+"},
    {"SH_COMMENT", "#[^\\n]*"},
    {"CPP_COMMENT", "//[^\\n]*"},
    {"SQL_COMMENT", "--[^\\n]*"},
};

class LarkParser : private GrammarParser {
 public:
  LarkParser(std::string_view text, const GrammarVocabulary& vocabulary)
      : GrammarParser(text, vocabulary), ignored_(source_.add_rule("ignored text")) {}

  GrammarSource parse() {
    skip_lines();
    while (!cursor_.at_end()) {
      parse_statement();
      skip_space();
      if (!at_line_end()) cursor_.fail("expected a new line");
      skip_lines();
    }
    const RuleId start = defined_rule("start");
    source_.define(ignored_, source_.repeat(source_.choice(ignores_), 0, kUnbounded));
    const RuleId root = source_.add_rule("root");
    source_.define(root, source_.sequence({source_.rule(ignored_), source_.rule(start)}));
    source_.set_root(root);
    return std::move(source_);
  }

 private:
  /// Inside a terminal nothing is ignored.
  enum class Inside { kRule, kTerminal };

  static bool is_name(char c) { return is_letter_or_digit(c) || c == '_'; }
  static bool is_terminal_name(std::string_view name) {
    for (const char c : name)
      if (c >= 'A' && c <= 'Z')
        return true;
      else if (c >= 'a' && c <= 'z')
        return false;
    return false;
  }

  void skip_space() {
    while (true) {
      if (cursor_.peek() == ' ' || cursor_.peek() == '\t')
        cursor_.skip(1);
      else if (cursor_.next_is("//") || cursor_.peek() == '#')
        while (!cursor_.at_end() && cursor_.peek() != '\n') cursor_.skip(1);
      else
        return;
    }
  }
  void skip_lines() {
    for (skip_space(); cursor_.peek() == '\n' || cursor_.peek() == '\r'; skip_space()) cursor_.skip(1);
  }
  /// Goes to the next line when that continues the rule with "|" (or anything, inside parentheses).
  void skip_to_continuation() {
    skip_space();
    if (open_groups_ > 0) return skip_lines();
    const std::size_t here = cursor_.position();
    skip_lines();
    if (cursor_.peek() != '|') cursor_.go_to(here);
  }

  void parse_statement() {
    if (cursor_.take("%ignore")) {
      skip_space();
      ignores_.push_back(parse_choice(Inside::kTerminal));
      return;
    }
    if (cursor_.take("%import")) return parse_import();
    if (cursor_.peek() == '%') cursor_.unsupported("this directive is not supported");
    cursor_.take("?") || cursor_.take("!");
    const std::size_t begin = cursor_.position();
    const std::string name = take_name(is_name);
    if (cursor_.peek() == '{') cursor_.unsupported("templates are not supported");
    if (cursor_.take(".")) {
      cursor_.take("-");
      cursor_.take_number(kMaxRepeat);
    }
    skip_space();
    cursor_.expect(":");
    const RuleId id = new_definition(name, begin);
    skip_to_continuation();
    cursor_.take("|");
    source_.define(id, parse_choice(is_terminal_name(name) ? Inside::kTerminal : Inside::kRule));
  }

  void parse_import() {
    skip_space();
    if (!cursor_.take("common.") && !cursor_.next_is("common"))
      cursor_.unsupported("only \"common\" can be imported");
    if (cursor_.take("common")) {
      skip_space();
      cursor_.expect("(");
      do {
        skip_space();
        const std::size_t begin = cursor_.position();
        const std::string name = take_name(is_name);
        import(name, name, begin);
        skip_space();
      } while (cursor_.take(","));
      return cursor_.expect(")");
    }
    const std::size_t begin = cursor_.position();
    const std::string name = take_name(is_name);
    skip_space();
    if (!cursor_.take("->")) return import(name, name, begin);
    skip_space();
    import(name, take_name(is_name), begin);
  }

  void import(const std::string& name, const std::string& as, std::size_t position) {
    const RuleId id = new_definition(as, position);
    for (const auto& [known, expression] : kCommon) {
      if (known != name) continue;
      return source_.define(id, parse_whole_regex(source_, expression, name, write_plain));
    }
    cursor_.fail_at(position, fmt::format("there is no common terminal \"{}\"", name));
  }

  ExprId parse_choice(Inside inside) {
    const Cursor::Nested nested(cursor_);
    std::vector<ExprId> ways;
    do {
      skip_space();
      ways.push_back(parse_sequence(inside));
      skip_to_continuation();
    } while (cursor_.take("|"));
    return source_.choice(std::move(ways));
  }

  ExprId parse_sequence(Inside inside) {
    std::vector<ExprId> parts;
    while (true) {
      skip_to_continuation();
      const char c = cursor_.peek();
      if (cursor_.take("->")) {  // Names a branch of the tree, which nobody asks for here.
        skip_space();
        take_name(is_name);
      } else if (c == '"' || c == '/' || c == '(' || c == '[' || c == '<' || is_name(c)) {
        parts.push_back(parse_operators(parse_item(inside)));
      } else {
        return source_.sequence(std::move(parts));
      }
    }
  }

  ExprId parse_item(Inside inside) {
    const char c = cursor_.peek();
    if (c == '(' || c == '[') {
      const std::size_t begin = cursor_.position();
      cursor_.skip(1);
      ++open_groups_;
      skip_lines();
      const ExprId inner = parse_choice(inside);
      --open_groups_;
      if (!cursor_.take(c == '(' ? ")" : "]")) cursor_.fail_at(begin, "the group is not closed");
      return c == '(' ? inner : source_.optional(inner);
    }
    const std::size_t begin = cursor_.position();
    if (is_name(c)) {
      const std::string name = take_name(is_name);
      if (cursor_.peek() == '{') cursor_.unsupported("templates are not supported");
      const ExprId reference = source_.rule(rule(name, begin));
      if (!is_terminal_name(name)) {
        if (inside == Inside::kTerminal)
          cursor_.fail_at(begin, fmt::format("a terminal cannot use the rule \"{}\"", name));
        return reference;
      }
      return terminal(reference, inside);
    }
    if (c == '<') return parse_marker(inside);
    return terminal(c == '"' ? parse_string() : parse_regex(), inside);
  }

  /// Text to be ignored may follow every terminal.
  ExprId terminal(ExprId expr, Inside inside) {
    return inside == Inside::kTerminal ? expr : source_.sequence({expr, source_.rule(ignored_)});
  }

  ExprId parse_operators(ExprId expr) {
    skip_space();
    if (cursor_.take("*")) return source_.repeat(expr, 0, kUnbounded);
    if (cursor_.take("+")) return source_.repeat(expr, 1, kUnbounded);
    if (cursor_.take("?")) return source_.optional(expr);
    if (!cursor_.take("~")) return expr;
    skip_space();
    const std::uint32_t min = cursor_.take_number(kMaxRepeat);
    skip_space();
    std::uint32_t max = min;
    if (cursor_.take("..")) {
      skip_space();
      max = cursor_.take_number(kMaxRepeat);
    }
    if (max < min) cursor_.fail("the upper count is below the lower one");
    return source_.repeat(expr, min, max);
  }

  char32_t take_escaped() {
    const char c = cursor_.peek();
    if (cursor_.at_end()) cursor_.fail("unfinished escape");
    cursor_.skip(1);
    switch (c) {
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'f':
        return '\f';
      case 'v':
        return '\v';
      case 'x':
        return cursor_.take_hex(2);
      case 'u':
        return cursor_.take_hex(4);
      case 'U':
        return cursor_.take_hex(8);
      case '\\':
      case '"':
      case '/':
        return static_cast<unsigned char>(c);
      default:
        cursor_.fail_at(cursor_.position() - 2, fmt::format("unknown escape \"\\{}\"", c));
    }
  }

  std::string take_string() {
    const std::size_t begin = cursor_.position();
    cursor_.expect("\"");
    std::string text;
    while (!cursor_.take("\"")) {
      if (cursor_.at_end() || cursor_.peek() == '\n') cursor_.fail_at(begin, "the string has no closing \"");
      append_utf8(text, cursor_.take("\\") ? take_escaped() : cursor_.take_character());
    }
    return text;
  }

  ExprId parse_string() {
    const std::size_t begin = cursor_.position();
    const std::string text = take_string();
    if (cursor_.take("..")) {
      const std::string last = take_string();
      std::size_t first_end = 0, last_end = 0;
      if (text.empty() || last.empty()) cursor_.fail_at(begin, "a range needs single characters");
      const char32_t from = next_code_point(text, first_end), to = next_code_point(last, last_end);
      if (first_end != text.size() || last_end != last.size() || to < from)
        cursor_.fail_at(begin, "a range needs two single characters in order");
      return source_.character(CodePointSet::range(from, to));
    }
    if (!cursor_.take("i")) return source_.literal(text);
    std::vector<ExprId> parts;
    for (std::size_t at = 0; at < text.size();) {
      const char32_t c = next_code_point(text, at);
      CodePointSet either = CodePointSet::of(c);
      const char32_t lower = c | 0x20;
      if (lower >= 'a' && lower <= 'z') either.add(CodePointSet::of(c ^ 0x20));
      parts.push_back(source_.character(either));
    }
    return source_.sequence(std::move(parts));
  }

  ExprId parse_regex() {
    const std::size_t begin = cursor_.position();
    cursor_.expect("/");
    std::string expression;
    bool in_class = false;
    while (in_class || cursor_.peek() != '/') {
      if (cursor_.at_end() || cursor_.peek() == '\n')
        cursor_.fail_at(begin, "the expression has no closing /");
      const char c = cursor_.peek();
      if (c == '\\') {
        if (cursor_.peek(1) != '/') expression += c;
        cursor_.skip(1);
        if (cursor_.at_end()) cursor_.fail("unfinished escape");
      } else if (c == '[' || c == ']') {
        in_class = c == '[';
      }
      append_utf8(expression, cursor_.take_character());
    }
    cursor_.skip(1);
    if (is_name(cursor_.peek())) cursor_.unsupported("flags of expressions are not supported");
    return parse_whole_regex(source_, expression, fmt::format("grammar: expression at byte {}", begin + 1),
                             write_plain);
  }

  ExprId parse_marker(Inside inside) {
    const std::size_t begin = cursor_.position();
    const std::string_view name = take_marker();
    const ExprId expr = marker(name, begin);
    if (inside == Inside::kTerminal) cursor_.fail_at(begin, "a terminal cannot use marker tokens");
    return terminal(expr, inside);
  }

  RuleId ignored_;
  std::vector<ExprId> ignores_;
  int open_groups_ = 0;
};

}  // namespace

GrammarSource parse_lark(std::string_view text, const GrammarVocabulary& vocabulary) {
  return LarkParser(text, vocabulary).parse();
}

}  // namespace lanner::text::grammar
