// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/lexer.h"

namespace lanner::text::jinja {

/// Recursive descent over Jinja2 3.1's grammar with the loopcontrols extension and transformers' generation
/// tag. Throws SyntaxFault, with Jinja2's messages.
class Parser {
 public:
  explicit Parser(std::string_view source);

  SyntaxTree parse();

 private:
  class DepthGuard;
  using EndTags = std::vector<std::string_view>;
  struct Arguments {
    std::vector<ExpressionPointer> positional;
    std::vector<std::pair<std::string, ExpressionPointer>> keywords;
    ExpressionPointer star, star_star;
  };
  enum class Conditions { kAllowed, kNotAllowed };

  // Token stream.
  const Token& look();
  Token advance();
  bool at_name(std::string_view name) const;
  bool at_operator(std::string_view text) const;
  bool at(TokenType type) const { return current_.type == type; }
  bool skip_name(std::string_view name);
  bool skip_operator(std::string_view text);
  Token expect(TokenType type, std::string_view description);
  void expect_operator(std::string_view text);
  void expect_name(std::string_view name);
  [[noreturn]] void fail(const std::string& message) const { fail(message, current_.line); }
  [[noreturn]] void fail(const std::string& message, int line) const { throw SyntaxFault(message, line); }
  [[noreturn]] void fail_expected(std::string_view description) const;
  [[noreturn]] void fail_unknown_tag(const std::string* name) const;

  // Statements (parser.cpp).
  Body parse_body(const EndTags& ends);
  Body parse_block(const EndTags& ends);
  Body parse_block_and_close(std::string_view end);
  StatementPointer parse_statement();
  StatementPointer parse_tag(const std::string& tag);
  StatementPointer parse_for();
  StatementPointer parse_if();
  StatementPointer parse_set();
  StatementPointer parse_with();
  StatementPointer parse_macro();
  StatementPointer parse_call();
  StatementPointer parse_filter_block();
  StatementPointer parse_print();
  StatementPointer parse_named_block();
  StatementPointer parse_scope(std::string_view end);
  StatementPointer parse_autoescape();
  StatementPointer parse_loop_control(Statement::Kind kind);
  void parse_signature(Statement& statement);

  // Operators (parser_expressions.cpp).
  ExpressionPointer parse_expression(Conditions conditions = Conditions::kAllowed);
  ExpressionPointer parse_condition();
  ExpressionPointer parse_or();
  ExpressionPointer parse_and();
  ExpressionPointer parse_not();
  ExpressionPointer parse_compare();
  ExpressionPointer parse_sum();
  ExpressionPointer parse_concat();
  ExpressionPointer parse_product();
  ExpressionPointer parse_power();
  ExpressionPointer parse_unary();
  ExpressionPointer parse_signed();

  // Operands, arguments and targets (parser_operands.cpp).
  ExpressionPointer parse_primary();
  ExpressionPointer parse_tuple(Conditions conditions = Conditions::kAllowed);
  ExpressionPointer parse_parenthesized();
  ExpressionPointer parse_list();
  ExpressionPointer parse_dict();
  ExpressionPointer parse_postfix(ExpressionPointer node);
  ExpressionPointer parse_postfix_filters(ExpressionPointer node);
  ExpressionPointer parse_subscript(ExpressionPointer node);
  ExpressionPointer parse_subscript_index();
  ExpressionPointer parse_call_expression(ExpressionPointer node);
  ExpressionPointer parse_filter(ExpressionPointer node);
  ExpressionPointer parse_filter_chain(ExpressionPointer node);
  ExpressionPointer parse_test(ExpressionPointer node);
  ExpressionPointer parse_target();
  ExpressionPointer parse_target_name(NameUse use);
  ExpressionPointer parse_set_target();
  Arguments parse_arguments();
  void parse_argument(Arguments& arguments, int line);
  std::string parse_dotted_name();
  bool at_tuple_end() const;
  void mark_target(Expression& target, NameUse use) const;
  /// These keep count of the tree's depth: code that walks it recurses.
  void attach(Expression& parent, ExpressionPointer child) const;
  void set_arguments(Expression& call, Arguments arguments) const;
  void deepen(Expression& parent, const Expression* child) const;
  ExpressionPointer make(Expression::Kind kind, int line) const;
  ExpressionPointer make(Expression::Kind kind, int line, ExpressionPointer first,
                         ExpressionPointer second) const;

  Lexer lexer_;
  Token current_;
  std::vector<Token> ahead_;
  std::vector<EndTags> end_tags_;
  std::vector<std::string> open_tags_;
  int depth_ = 0;
  int loop_depth_ = 0;  ///< Loops around this point within the same macro.
};

/// Guards the parser's own recursion.
class Parser::DepthGuard {
 public:
  explicit DepthGuard(Parser& parser) : depth_(parser.depth_) {
    if (++depth_ > kMaxDepth) {
      --depth_;
      parser.fail("expressions or tags nest too deeply");
    }
  }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  static constexpr int kMaxDepth = 600;
  int& depth_;
};

}  // namespace lanner::text::jinja
