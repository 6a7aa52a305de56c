// SPDX-License-Identifier: MIT
#include "text/grammar/regex.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "text/grammar/cursor.h"

namespace lanner::text::grammar {

namespace {

/// White space and line ends of ECMAScript.
CodePointSet white_space() {
  CodePointSet set = CodePointSet::of(" \t\n\v\f\r");
  for (const char32_t c :
       {U'\u00A0', U'\u1680', U'\u2028', U'\u2029', U'\u202F', U'\u205F', U'\u3000', U'\uFEFF'})
    set.add(c, c);
  set.add(U'\u2000', U'\u200A');
  return set;
}

CodePointSet line_ends() {
  CodePointSet set = CodePointSet::of("\n\r");
  set.add(U'\u2028', U'\u2029');
  return set;
}

CodePointSet word_characters() {
  CodePointSet set = CodePointSet::of("_");
  set.add('a', 'z');
  set.add('A', 'Z');
  set.add('0', '9');
  return set;
}

/// An expression as a tree, so that what surrounds a search can be put where no anchor stands.
struct Regex {
  enum class Kind { kSet, kSequence, kChoice, kRepeat, kBegin, kEnd };
  Kind kind = Kind::kSequence;
  CodePointSet set = {};
  std::vector<Regex> children = {};
  std::uint32_t min = 0, max = 0;
};

class RegexParser {
 public:
  RegexParser(Cursor& cursor, Work& work) : cursor_(cursor), work_(work) {}

  Regex parse() {
    Regex regex = parse_choice();
    if (!cursor_.at_end()) cursor_.fail("unmatched \")\"");
    return regex;
  }

 private:
  Regex parse_choice() {
    const Cursor::Nested nested(cursor_);
    Regex choice{.kind = Regex::Kind::kChoice};
    do choice.children.push_back(parse_sequence());
    while (cursor_.take("|"));
    if (choice.children.size() == 1) return Regex(std::move(choice.children.front()));
    return choice;
  }

  Regex parse_sequence() {
    Regex sequence;
    work_.take(2 * kPartWork);
    while (!cursor_.at_end() && cursor_.peek() != '|' && cursor_.peek() != ')') {
      if (cursor_.take("^"))
        sequence.children.push_back({.kind = Regex::Kind::kBegin});
      else if (cursor_.take("$"))
        sequence.children.push_back({.kind = Regex::Kind::kEnd});
      else
        sequence.children.push_back(parse_quantified());
    }
    return sequence;
  }

  Regex parse_quantified() {
    Regex atom = parse_atom();
    std::uint32_t min = 0, max = 0;
    if (cursor_.take("*")) {
      max = kUnbounded;
    } else if (cursor_.take("+")) {
      min = 1;
      max = kUnbounded;
    } else if (cursor_.take("?")) {
      max = 1;
    } else if (!take_counts(min, max)) {
      return atom;
    }
    cursor_.take("?");  // Lazy: the same texts.
    if (cursor_.peek() == '+') cursor_.unsupported("possessive quantifiers are not supported");
    if (cursor_.peek() == '*' || cursor_.peek() == '?') cursor_.fail("nothing to repeat");
    Regex repeat{.kind = Regex::Kind::kRepeat, .min = min, .max = max};
    repeat.children.push_back(std::move(atom));
    return repeat;
  }

  /// {m}, {m,} or {m,n}; other braces stand for themselves.
  bool take_counts(std::uint32_t& min, std::uint32_t& max) {
    const std::size_t begin = cursor_.position();
    if (!cursor_.take("{")) return false;
    if (cursor_.next_is_digit()) {
      min = max = cursor_.take_number(kMaxRepeat);
      if (cursor_.take(",")) max = cursor_.next_is_digit() ? cursor_.take_number(kMaxRepeat) : kUnbounded;
      if (cursor_.take("}")) {
        if (max < min) cursor_.fail_at(begin, "the upper count is below the lower one");
        return true;
      }
    }
    cursor_.go_to(begin);
    return false;
  }

  Regex parse_atom() {
    work_.take(2 * kPartWork);
    if (cursor_.take("(")) return parse_group();
    if (cursor_.take("[")) return {.kind = Regex::Kind::kSet, .set = parse_class()};
    if (cursor_.take(".")) return {.kind = Regex::Kind::kSet, .set = line_ends().complement()};
    if (cursor_.peek() == '\\') return {.kind = Regex::Kind::kSet, .set = take_escape()};
    if (cursor_.peek() == '*' || cursor_.peek() == '+' || cursor_.peek() == '?')
      cursor_.fail("nothing to repeat");
    return {.kind = Regex::Kind::kSet, .set = CodePointSet::of(cursor_.take_character())};
  }

  Regex parse_group() {
    const std::size_t begin = cursor_.position() - 1;
    if (cursor_.take("?")) {
      if (cursor_.next_is("=") || cursor_.next_is("!") || cursor_.next_is("<=") || cursor_.next_is("<!"))
        cursor_.unsupported("looking around is not supported");
      if (cursor_.take("<") || cursor_.take("P<")) {
        while (!cursor_.at_end() && cursor_.peek() != '>') cursor_.skip(1);
        cursor_.expect(">");
      } else if (!cursor_.take(":")) {
        cursor_.unsupported("this kind of group is not supported");
      }
    }
    Regex inner = parse_choice();
    if (!cursor_.take(")")) cursor_.fail_at(begin, "the group has no closing )");
    return inner;
  }

  CodePointSet parse_class() {
    const std::size_t begin = cursor_.position() - 1;
    const bool negated = cursor_.take("^");
    std::vector<CodePointSet::Range> ranges;
    while (!cursor_.take("]")) {
      if (cursor_.at_end()) cursor_.fail_at(begin, "the character class has no closing ]");
      const CodePointSet first = take_class_member();
      if (cursor_.peek() == '-' && cursor_.peek(1) != ']' && first.only()) {
        cursor_.skip(1);
        const CodePointSet last = take_class_member();
        if (!last.only()) cursor_.fail("a class cannot end a range");
        if (*last.only() < *first.only()) cursor_.fail("the range of characters is in the wrong order");
        ranges.push_back({*first.only(), *last.only()});
      } else {
        ranges.insert(ranges.end(), first.ranges().begin(), first.ranges().end());
      }
    }
    const CodePointSet set = CodePointSet::of(std::move(ranges));
    return negated ? set.complement() : set;
  }

  CodePointSet take_class_member() {
    work_.take(kPartWork);
    if (cursor_.at_end()) cursor_.fail("the character class has no closing ]");
    if (cursor_.next_is("\\b")) {
      cursor_.skip(2);
      return CodePointSet::of(U'\b');
    }
    if (cursor_.peek() == '\\') return take_escape();
    return CodePointSet::of(cursor_.take_character());
  }

  CodePointSet take_escape() {
    cursor_.skip(1);
    if (cursor_.at_end()) cursor_.fail("unfinished escape");
    const char c = cursor_.peek();
    if (c >= '1' && c <= '9') cursor_.unsupported("references back are not supported");
    if (c == 'b' || c == 'B' || c == 'A' || c == 'Z' || c == 'z' || c == 'G')
      cursor_.unsupported(fmt::format("\"\\{}\" is not supported", c));
    if (c == 'k') cursor_.unsupported("references back are not supported");
    if (c == 'p' || c == 'P') return take_category();
    const char32_t character = cursor_.take_character();
    switch (character) {
      case 'd':
        return CodePointSet::range('0', '9');
      case 'D':
        return CodePointSet::range('0', '9').complement();
      case 'w':
        return word_characters();
      case 'W':
        return word_characters().complement();
      case 's':
        return white_space();
      case 'S':
        return white_space().complement();
      default:
        return CodePointSet::of(take_escaped_character(character));
    }
  }

  char32_t take_escaped_character(char32_t character) {
    switch (character) {
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'v':
        return '\v';
      case 'f':
        return '\f';
      case '0':
        return 0;
      case 'x':
        return cursor_.take_hex(2);
      case 'u':
        return cursor_.peek() == '{' ? take_braced_hex() : take_utf16();
      case 'c': {
        const char32_t letter = cursor_.at_end() ? 0 : cursor_.take_character();
        if (letter < '@' || letter > 'z') cursor_.fail("expected a letter behind \"\\c\"");
        return letter & 31U;
      }
      default:
        if ((character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z'))
          cursor_.fail(fmt::format("unknown escape \"\\{}\"", static_cast<char>(character)));
        return character;
    }
  }

  /// \uD83D\uDE00 is one character.
  char32_t take_utf16() {
    const std::size_t begin = cursor_.position();
    const auto unit = [&]() -> std::optional<char32_t> {
      char32_t value = 0;
      for (int i = 0; i < 4; ++i, cursor_.skip(1)) {
        const auto c = static_cast<char>(cursor_.peek() | 0x20);
        const bool digit = cursor_.next_is_digit();
        if (!digit && (c < 'a' || c > 'f')) return std::nullopt;
        value = value * 16 + static_cast<char32_t>(digit ? c - '0' : c - 'a' + 10);
      }
      return value;
    };
    const std::optional<char32_t> high = unit();
    if (high && *high >= 0xD800 && *high < 0xDC00 && cursor_.take("\\u")) {
      const std::optional<char32_t> low = unit();
      if (low && *low >= 0xDC00 && *low <= 0xDFFF)
        return 0x10000 + ((*high - 0xD800) << 10) + (*low - 0xDC00);
    }
    cursor_.go_to(begin);
    return cursor_.take_hex(4);
  }

  char32_t take_braced_hex() {
    cursor_.skip(1);
    int digits = 0;
    while (cursor_.peek(static_cast<std::size_t>(digits)) != '}' && digits < 7) ++digits;
    if (digits < 1 || digits > 6) cursor_.fail("expected 1 to 6 hexadecimal digits");
    const char32_t value = cursor_.take_hex(digits);
    cursor_.expect("}");
    return value;
  }

  CodePointSet take_category() {
    const bool negated = cursor_.peek() == 'P';
    cursor_.skip(1);
    cursor_.expect("{");
    const std::size_t begin = cursor_.position();
    while (!cursor_.at_end() && cursor_.peek() != '}') cursor_.skip(1);
    const std::string name(cursor_.since(begin));
    cursor_.expect("}");
    const std::optional<CodePointSet> set = CodePointSet::category(name);
    if (set) work_.take(set->ranges().size());
    if (!set) cursor_.unsupported(fmt::format("\"{}\" is not a general category of Unicode", name));
    return negated ? set->complement() : *set;
  }

  Cursor& cursor_;
  Work& work_;
};

/// What an expression's texts are surrounded by where no anchor stands.
enum class Surroundings { kNothing, kAnything };

class RegexWriter {
 public:
  RegexWriter(GrammarSource& source, const WriteCharacter& write, Cursor& cursor, Surroundings surroundings)
      : source_(source), write_(write), cursor_(cursor) {
    around_ = surroundings == Surroundings::kNothing
                  ? source.empty()
                  : source.repeat(write(source, CodePointSet::all()), 0, kUnbounded);
  }

  ExprId write(const Regex& regex) { return write(regex, Edge::kText, Edge::kText); }

 private:
  /// What is to the left or right of an expression: the text's own end, or more of the expression.
  enum class Edge { kText, kInner };

  ExprId write(const Regex& regex, Edge left, Edge right) {
    switch (regex.kind) {
      case Regex::Kind::kChoice: {
        std::vector<ExprId> ways;
        for (const Regex& child : regex.children) ways.push_back(write(child, left, right));
        return source_.choice(std::move(ways));
      }
      case Regex::Kind::kSequence:
        return write_sequence(regex, left, right);
      default:
        return surround(write_inner(regex), left, right);
    }
  }

  ExprId surround(ExprId inner, Edge left, Edge right) {
    std::vector<ExprId> parts;
    if (left == Edge::kText) parts.push_back(around_);
    parts.push_back(inner);
    if (right == Edge::kText) parts.push_back(around_);
    return source_.sequence(std::move(parts));
  }

  ExprId write_sequence(const Regex& regex, Edge left, Edge right) {
    std::size_t begin = 0, end = regex.children.size();
    Edge inner_left = left, inner_right = right;
    for (; begin < end && regex.children[begin].kind == Regex::Kind::kBegin; ++begin) {
      if (left != Edge::kText) misplaced();
      inner_left = Edge::kInner;
    }
    for (; end > begin && regex.children[end - 1].kind == Regex::Kind::kEnd; --end) {
      if (right != Edge::kText) misplaced();
      inner_right = Edge::kInner;
    }
    if (begin == end) return surround(source_.empty(), inner_left, inner_right);
    std::vector<ExprId> parts;
    for (std::size_t i = begin; i < end; ++i)
      parts.push_back(write(regex.children[i], i == begin ? inner_left : Edge::kInner,
                            i + 1 == end ? inner_right : Edge::kInner));
    return source_.sequence(std::move(parts));
  }

  ExprId write_inner(const Regex& regex) {
    if (regex.kind == Regex::Kind::kSet) return write_(source_, regex.set);
    if (regex.kind == Regex::Kind::kRepeat)
      return source_.repeat(write(regex.children[0], Edge::kInner, Edge::kInner), regex.min, regex.max);
    misplaced();
  }

  [[noreturn]] void misplaced() const {
    cursor_.go_to(0);
    cursor_.unsupported("anchors are supported only at the beginning (^) and the end ($) of the expression");
  }

  GrammarSource& source_;
  const WriteCharacter& write_;
  Cursor& cursor_;
  ExprId around_ = 0;
};

ExprId parse_regex(GrammarSource& source, std::string_view expression, std::string_view what,
                   const WriteCharacter& write, Surroundings surroundings) {
  Cursor cursor(expression, what);
  const Regex regex = RegexParser(cursor, *source.work()).parse();
  return RegexWriter(source, write, cursor, surroundings).write(regex);
}

}  // namespace

ExprId parse_whole_regex(GrammarSource& source, std::string_view expression, std::string_view what,
                         const WriteCharacter& write) {
  return parse_regex(source, expression, what, write, Surroundings::kNothing);
}

ExprId parse_search_regex(GrammarSource& source, std::string_view expression, std::string_view what,
                          const WriteCharacter& write) {
  return parse_regex(source, expression, what, write, Surroundings::kAnything);
}

ExprId write_plain(GrammarSource& source, const CodePointSet& set) { return source.character(set); }

}  // namespace lanner::text::grammar
