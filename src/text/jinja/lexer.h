// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/fault.h"
#include "text/jinja/value.h"

namespace lanner::text::jinja {

enum class TokenType {
  kData,           ///< Text outside tags.
  kVariableBegin,  ///< {{
  kVariableEnd,    ///< }}
  kBlockBegin,     ///< {%
  kBlockEnd,       ///< %}
  kName,
  kString,    ///< Escapes already decoded.
  kNumber,    ///< Integer or float; see Token::number.
  kOperator,  ///< Token::text is the operator.
  kEnd,
};

struct Token {
  TokenType type = TokenType::kEnd;
  int line = 1;
  std::string text;
  Value number;
};

/// How a token reads in an error message.
std::string describe(const Token& token);

/// Syntax error with the line it was found in.
class SyntaxFault : public Fault {
 public:
  SyntaxFault(const std::string& message, int line) : Fault(FaultKind::kTemplate, message), line_(line) {}
  int line() const { return line_; }

 private:
  int line_;
};

/// Cuts a template into tokens as Jinja2 3.1 does with trim_blocks and lstrip_blocks on: on demand, so that
/// the parser's errors come before lexical errors further down.
class Lexer {
 public:
  explicit Lexer(std::string_view source);

  Token next();

 private:
  enum class State { kText, kVariable, kBlock, kFinished };

  void lex_text();
  void lex_comment();
  void lex_raw_block(size_t tag_end);
  void lex_inside_tag();
  bool lex_tag_end();
  void lex_number();
  void lex_name();
  void lex_string();
  void lex_operator();
  size_t find_tag(size_t from) const;
  bool match_raw_tag(size_t tag, std::string_view word, size_t& end) const;
  std::string_view strip_before_tag(std::string_view text, char sign, char tag_kind) const;
  void emit(TokenType type, std::string text);
  void emit_data(std::string_view text);
  void advance_to(size_t position);
  void skip_blanks();
  [[noreturn]] void fail(const std::string& message) const;

  std::string source_;
  size_t position_ = 0;
  int line_ = 1;
  bool line_starting_ = true;  ///< The last thing read ended with a newline (or nothing was read).
  State state_ = State::kText;
  std::vector<char> open_brackets_;
  std::deque<Token> pending_;
};

}  // namespace lanner::text::jinja
