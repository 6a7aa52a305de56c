// SPDX-License-Identifier: MIT
#include "text/jinja/lexer.h"

#include <algorithm>

#include "text/jinja/number_text.h"
#include "text/jinja/string_literal.h"
#include "text/jinja/unicode.h"
#include "text/jinja/value_text.h"

namespace lanner::text::jinja {
namespace {

// Newlines become \n, and one at the very end is dropped.
std::string normalize(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
    } else {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_digit_of(char c, int base) {
  if (base == 16) return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  return c >= '0' && c < '0' + base;
}

// End of digits with single underscores between them, starting at a digit.
size_t scan_digits(std::string_view text, size_t at, int base) {
  while (at < text.size()) {
    if (is_digit_of(text[at], base)) {
      ++at;
    } else if (text[at] == '_' && at + 1 < text.size() && is_digit_of(text[at + 1], base)) {
      at += 2;
    } else {
      break;
    }
  }
  return at;
}

// End of a float literal at `at`, or `at` when there is none.
size_t scan_float(std::string_view text, size_t at) {
  if (at > 0 && text[at - 1] == '.') return at;
  size_t end = scan_digits(text, at, 10);
  bool is_float = false;
  if (end + 1 < text.size() && text[end] == '.' && is_digit(text[end + 1])) {
    end = scan_digits(text, end + 1, 10);
    is_float = true;
  }
  if (end < text.size() && (text[end] | 0x20) == 'e') {
    size_t digits = end + 1;
    if (digits < text.size() && (text[digits] == '+' || text[digits] == '-')) ++digits;
    if (digits < text.size() && is_digit(text[digits])) {
      end = scan_digits(text, digits, 10);
      is_float = true;
    }
  }
  return is_float ? end : at;
}

size_t scan_integer(std::string_view text, size_t at) {
  if (text[at] == '0' && at + 1 < text.size()) {
    const char mark = static_cast<char>(text[at + 1] | 0x20);
    const int base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
    const size_t digits = at + 2 < text.size() && text[at + 2] == '_' ? at + 3 : at + 2;
    if (base != 0 && digits < text.size() && is_digit_of(text[digits], base))
      return scan_digits(text, digits, base);
  }
  return scan_digits(text, at, text[at] == '0' ? 1 : 10);
}

constexpr std::string_view kOperators[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                           "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                           ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};

}  // namespace

std::string describe(const Token& token) {
  switch (token.type) {
    case TokenType::kData:
      return "template data / text";
    case TokenType::kVariableBegin:
      return "begin of print statement";
    case TokenType::kVariableEnd:
      return "end of print statement";
    case TokenType::kBlockBegin:
      return "begin of statement block";
    case TokenType::kBlockEnd:
      return "end of statement block";
    case TokenType::kString:
      return "string";
    case TokenType::kNumber:
      return token.number.is(Kind::kFloat) ? "float" : "integer";
    case TokenType::kEnd:
      return "end of template";
    default:
      return token.text;
  }
}

Lexer::Lexer(std::string_view source) : source_(normalize(source)) {}

Token Lexer::next() {
  while (pending_.empty() && state_ != State::kFinished)
    state_ == State::kText ? lex_text() : lex_inside_tag();
  if (pending_.empty()) return Token{TokenType::kEnd, line_, {}, {}};
  Token token = std::move(pending_.front());
  pending_.pop_front();
  return token;
}

void Lexer::fail(const std::string& message) const { throw SyntaxFault(message, line_); }

void Lexer::emit(TokenType type, std::string text) {
  pending_.push_back(Token{type, line_, std::move(text), {}});
}

void Lexer::emit_data(std::string_view text) {
  if (!text.empty()) emit(TokenType::kData, std::string(text));
}

void Lexer::advance_to(size_t position) {
  if (position == position_) return;
  line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(position_),
                                       source_.begin() + static_cast<std::ptrdiff_t>(position), '\n'));
  line_starting_ = source_[position - 1] == '\n';
  position_ = position;
}

void Lexer::skip_blanks() {
  size_t end = position_;
  for (size_t next = end; end < source_.size(); end = next)
    if (!is_space(next_code_point(source_, next))) break;
  advance_to(end);
}

size_t Lexer::find_tag(size_t from) const {
  for (size_t at = source_.find('{', from); at != std::string::npos; at = source_.find('{', at + 1))
    if (at + 1 < source_.size() &&
        (source_[at + 1] == '{' || source_[at + 1] == '%' || source_[at + 1] == '#'))
      return at;
  return std::string::npos;
}

// {%[-+]? word [-]?%} at `tag`; sets `end` to after the tag's "%}" (blanks after a "-%}" not included).
bool Lexer::match_raw_tag(size_t tag, std::string_view word, size_t& end) const {
  std::string_view rest = std::string_view(source_).substr(tag);
  if (rest.substr(0, 2) != "{%") return false;
  rest.remove_prefix(2);
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
  rest = strip_left(rest);
  if (rest.substr(0, word.size()) != word) return false;
  rest = strip_left(rest.substr(word.size()));
  if (!rest.empty() && (rest[0] == '-' || (rest[0] == '+' && word == "endraw"))) rest.remove_prefix(1);
  if (rest.substr(0, 2) != "%}") return false;
  end = source_.size() - rest.size() + 2;
  return true;
}

std::string_view Lexer::strip_before_tag(std::string_view text, char sign, char tag_kind) const {
  if (sign == '-') return strip_right(text);
  if (sign == '+' || tag_kind == '{') return text;
  const size_t line_start = text.rfind('\n') + 1;  // npos + 1 == 0
  const std::string_view indentation = text.substr(line_start);
  const bool at_line_start = line_start > 0 || line_starting_;
  return at_line_start && strip_left(indentation).empty() ? text.substr(0, line_start) : text;
}

void Lexer::lex_text() {
  const size_t tag = find_tag(position_);
  const std::string_view source = source_;
  if (tag == std::string::npos) {
    emit_data(source.substr(position_));
    advance_to(source_.size());
    state_ = State::kFinished;
    return;
  }
  const char kind = source_[tag + 1];
  const char next = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
  const char sign = next == '-' || next == '+' ? next : ' ';
  emit_data(strip_before_tag(source.substr(position_, tag - position_), sign, kind));
  advance_to(tag);
  size_t raw_end = 0;
  if (kind == '%' && match_raw_tag(tag, "raw", raw_end)) return lex_raw_block(raw_end);
  const size_t inside = tag + (sign == ' ' ? 2 : 3);
  if (kind == '#') {
    advance_to(inside);
    return lex_comment();
  }
  emit(kind == '{' ? TokenType::kVariableBegin : TokenType::kBlockBegin, {});
  advance_to(inside);
  state_ = kind == '{' ? State::kVariable : State::kBlock;
}

void Lexer::lex_comment() {
  const size_t end = source_.find("#}", position_);
  if (end == std::string::npos) {
    if (position_ < source_.size()) fail("Missing end of comment tag");
    state_ = State::kFinished;
    return;
  }
  const char sign = end > position_ ? source_[end - 1] : ' ';
  advance_to(end + 2);
  if (sign == '-')
    skip_blanks();
  else if (sign != '+' && position_ < source_.size() && source_[position_] == '\n')
    advance_to(position_ + 1);
}

void Lexer::lex_raw_block(size_t tag_end) {
  const bool strip_after = source_[tag_end - 3] == '-';
  advance_to(tag_end);
  if (strip_after) skip_blanks();
  size_t end = 0;
  size_t tag = source_.find("{%", position_);
  while (tag != std::string::npos && !match_raw_tag(tag, "endraw", end)) tag = source_.find("{%", tag + 1);
  if (tag == std::string::npos) fail("Missing end of raw directive");
  const char next = source_[tag + 2];
  const char sign = next == '-' || next == '+' ? next : ' ';
  emit_data(strip_before_tag(std::string_view(source_).substr(position_, tag - position_), sign, '%'));
  advance_to(end);
  const char end_sign = source_[end - 3];
  if (end_sign == '-')
    skip_blanks();
  else if (end_sign != '+' && position_ < source_.size() && source_[position_] == '\n')
    advance_to(position_ + 1);
}

bool Lexer::lex_tag_end() {
  if (!open_brackets_.empty()) return false;
  const std::string_view rest = std::string_view(source_).substr(position_);
  const std::string_view end = state_ == State::kVariable ? "}}" : "%}";
  const bool minus = rest.substr(0, 1) == "-" && rest.substr(1, 2) == end;
  const bool plus = state_ == State::kBlock && rest.substr(0, 1) == "+" && rest.substr(1, 2) == end;
  if (!minus && !plus && rest.substr(0, 2) != end) return false;
  emit(state_ == State::kVariable ? TokenType::kVariableEnd : TokenType::kBlockEnd, {});
  advance_to(position_ + (minus || plus ? 3 : 2));
  if (minus)
    skip_blanks();
  else if (!plus && state_ == State::kBlock && position_ < source_.size() && source_[position_] == '\n')
    advance_to(position_ + 1);
  state_ = State::kText;
  return true;
}

void Lexer::lex_inside_tag() {
  if (position_ >= source_.size()) {
    state_ = State::kFinished;
    return;
  }
  if (lex_tag_end()) return;
  size_t next = position_;
  const char32_t c = next_code_point(source_, next);
  if (is_space(c)) return skip_blanks();
  if (c < 0x80 && is_digit(static_cast<char>(c))) return lex_number();
  if (is_identifier_part(c)) return lex_name();
  if (c == '\'' || c == '"') return lex_string();
  lex_operator();
}

void Lexer::lex_number() {
  const std::string_view source = source_;
  size_t end = scan_float(source, position_);
  const bool is_float = end != position_;
  if (!is_float) end = scan_integer(source, position_);
  std::string digits(source.substr(position_, end - position_));
  digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
  emit(TokenType::kNumber, digits);
  pending_.back().number = is_float ? Value::real(parse_float(digits).value_or(0))
                                    : Value::integer(parse_int(digits, 0).value_or(0));
  advance_to(end);
}

void Lexer::lex_name() {
  size_t end = position_;
  for (size_t next = end; end < source_.size(); end = next)
    if (!is_identifier_part(next_code_point(source_, next))) break;
  size_t first = position_;
  if (!is_identifier_start(next_code_point(source_, first))) fail("Invalid character in identifier");
  emit(TokenType::kName, source_.substr(position_, end - position_));
  advance_to(end);
}

void Lexer::lex_string() {
  const char quote = source_[position_];
  size_t end = position_ + 1;
  while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
  if (end >= source_.size())
    fail("unexpected char " + quoted_repr(std::string(1, quote)) + " at " + std::to_string(position_));
  std::string decoded;
  if (const char* problem = decode_string_literal(
          std::string_view(source_).substr(position_ + 1, end - position_ - 1), decoded))
    fail(problem);
  emit(TokenType::kString, std::move(decoded));
  advance_to(end + 1);
}

void Lexer::lex_operator() {
  const std::string_view rest = std::string_view(source_).substr(position_);
  const auto* found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                   [&](std::string_view op) { return rest.substr(0, op.size()) == op; });
  if (found == std::end(kOperators)) {
    size_t next = position_;
    next_code_point(source_, next);
    fail("unexpected char " + quoted_repr(rest.substr(0, next - position_)) + " at " +
         std::to_string(code_point_count(std::string_view(source_).substr(0, position_))));
  }
  const char c = (*found)[0];
  if (c == '(' || c == '[' || c == '{') {
    open_brackets_.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
  } else if (c == ')' || c == ']' || c == '}') {
    if (open_brackets_.empty()) fail("unexpected '" + std::string(1, c) + "'");
    const char expected = open_brackets_.back();
    open_brackets_.pop_back();
    if (expected != c)
      fail("unexpected '" + std::string(1, c) + "', expected '" + std::string(1, expected) + "'");
  }
  emit(TokenType::kOperator, std::string(*found));
  advance_to(position_ + found->size());
}

}  // namespace lanner::text::jinja
