// SPDX-License-Identifier: MIT
#include "text/jinja/parser.h"

#include <algorithm>

namespace lanner::text::jinja {
namespace {

StatementPointer make_statement(Statement::Kind kind, int line) {
  auto statement = std::make_unique<Statement>();
  statement->kind = kind;
  statement->line = line;
  return statement;
}

std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

}  // namespace

Parser::Parser(std::string_view source) : lexer_(source) { current_ = lexer_.next(); }

SyntaxTree Parser::parse() {
  SyntaxTree tree;
  tree.body = parse_body({});
  return tree;
}

const Token& Parser::look() {
  if (ahead_.empty()) ahead_.push_back(lexer_.next());
  return ahead_.front();
}

Token Parser::advance() {
  Token token = std::move(current_);
  if (ahead_.empty()) {
    current_ = lexer_.next();
  } else {
    current_ = std::move(ahead_.front());
    ahead_.clear();
  }
  return token;
}

bool Parser::at_name(std::string_view name) const {
  return current_.type == TokenType::kName && current_.text == name;
}

bool Parser::at_operator(std::string_view text) const {
  return current_.type == TokenType::kOperator && current_.text == text;
}

bool Parser::skip_name(std::string_view name) {
  if (!at_name(name)) return false;
  advance();
  return true;
}

bool Parser::skip_operator(std::string_view text) {
  if (!at_operator(text)) return false;
  advance();
  return true;
}

void Parser::fail_expected(std::string_view description) const {
  if (current_.type == TokenType::kEnd)
    fail("unexpected end of template, expected " + in_quotes(description) + ".");
  fail("expected token " + in_quotes(description) + ", got " + in_quotes(describe(current_)));
}

Token Parser::expect(TokenType type, std::string_view description) {
  if (current_.type != type) fail_expected(description);
  return advance();
}

void Parser::expect_operator(std::string_view text) {
  if (!skip_operator(text)) fail_expected(text);
}

void Parser::expect_name(std::string_view name) {
  if (!skip_name(name)) fail_expected(name);
}

// `name` is null at the end of the template.
void Parser::fail_unknown_tag(const std::string* name) const {
  std::string looking;
  if (!end_tags_.empty())
    for (std::string_view end : end_tags_.back()) looking += (looking.empty() ? "" : " or ") + in_quotes(end);
  std::string message =
      name ? "Encountered unknown tag " + in_quotes(*name) + "." : "Unexpected end of template.";
  const bool expected_further_out =
      name && std::any_of(end_tags_.begin(), end_tags_.end(), [&](const EndTags& ends) {
        return std::find(ends.begin(), ends.end(), *name) != ends.end();
      });
  if (!looking.empty()) {
    message += expected_further_out ? " You probably made a nesting mistake. Jinja is expecting this tag, "
                                      "but currently looking for " +
                                          looking + "."
                                    : " Jinja was looking for the following tags: " + looking + ".";
  }
  if (!open_tags_.empty())
    message += " The innermost block that needs to be closed is " + in_quotes(open_tags_.back()) + ".";
  fail(message);
}

// Reads up to one of the end tags, whose name is then current; without end tags up to the end of the
// template.
Body Parser::parse_body(const EndTags& ends) {
  DepthGuard guard(*this);
  Body body;
  if (!ends.empty()) end_tags_.push_back(ends);
  while (!at(TokenType::kEnd)) {
    if (at(TokenType::kData)) {
      auto data = make_statement(Statement::Kind::kData, current_.line);
      data->text = advance().text;
      body.push_back(std::move(data));
    } else if (at(TokenType::kVariableBegin)) {
      auto print = make_statement(Statement::Kind::kPrint, current_.line);
      advance();
      print->expressions.push_back(parse_tuple());
      expect(TokenType::kVariableEnd, "end of print statement");
      body.push_back(std::move(print));
    } else {
      expect(TokenType::kBlockBegin, "begin of statement block");
      if (current_.type == TokenType::kName &&
          std::find(ends.begin(), ends.end(), current_.text) != ends.end()) {
        end_tags_.pop_back();
        return body;
      }
      body.push_back(parse_statement());
      expect(TokenType::kBlockEnd, "end of statement block");
    }
  }
  if (!ends.empty()) fail_unknown_tag(nullptr);
  return body;
}

Body Parser::parse_block(const EndTags& ends) {
  skip_operator(":");
  expect(TokenType::kBlockEnd, "end of statement block");
  return parse_body(ends);
}

Body Parser::parse_block_and_close(std::string_view end) {
  Body body = parse_block({end});
  advance();
  return body;
}

StatementPointer Parser::parse_statement() {
  if (!at(TokenType::kName)) fail("tag name expected");
  const std::string tag = current_.text;
  open_tags_.push_back(tag);
  StatementPointer statement = parse_tag(tag);
  open_tags_.pop_back();
  return statement;
}

StatementPointer Parser::parse_tag(const std::string& tag) {
  if (tag == "for") return parse_for();
  if (tag == "if") return parse_if();
  if (tag == "set") return parse_set();
  if (tag == "with") return parse_with();
  if (tag == "macro") return parse_macro();
  if (tag == "call") return parse_call();
  if (tag == "filter") return parse_filter_block();
  if (tag == "print") return parse_print();
  if (tag == "block") return parse_named_block();
  if (tag == "autoescape") return parse_autoescape();
  if (tag == "generation") return parse_scope("endgeneration");
  if (tag == "break") return parse_loop_control(Statement::Kind::kBreak);
  if (tag == "continue") return parse_loop_control(Statement::Kind::kContinue);
  if (tag == "extends" || tag == "include" || tag == "import" || tag == "from")
    throw Fault(FaultKind::kUnsupported,
                "line " + std::to_string(current_.line) + ": the '" + tag +
                    "' tag needs other template files, which a chat template does not have");
  open_tags_.pop_back();
  fail_unknown_tag(&tag);
}

StatementPointer Parser::parse_for() {
  auto loop = make_statement(Statement::Kind::kFor, advance().line);
  loop->target = parse_target();
  expect_name("in");
  loop->expression = parse_tuple(Conditions::kNotAllowed);
  if (skip_name("if")) loop->test = parse_expression();
  loop->recursive = skip_name("recursive");
  ++loop_depth_;
  loop->body = parse_block({"endfor", "else"});
  --loop_depth_;
  if (advance().text == "else") loop->else_body = parse_block_and_close("endfor");
  return loop;
}

StatementPointer Parser::parse_if() {
  auto whole = make_statement(Statement::Kind::kIf, current_.line);
  Statement* branch = whole.get();
  while (true) {
    advance();
    branch->test = parse_tuple(Conditions::kNotAllowed);
    branch->body = parse_block({"elif", "else", "endif"});
    if (!at_name("elif")) break;
    whole->elifs.push_back(make_statement(Statement::Kind::kIf, current_.line));
    branch = whole->elifs.back().get();
  }
  if (advance().text == "else") whole->else_body = parse_block_and_close("endif");
  return whole;
}

StatementPointer Parser::parse_set() {
  auto set = make_statement(Statement::Kind::kSet, advance().line);
  set->target = parse_set_target();
  if (skip_operator("=")) {
    set->expression = parse_tuple();
    return set;
  }
  set->kind = Statement::Kind::kSetBlock;
  set->expression = parse_filter_chain(nullptr);
  set->body = parse_block_and_close("endset");
  return set;
}

StatementPointer Parser::parse_with() {
  auto with = make_statement(Statement::Kind::kWith, advance().line);
  while (!at(TokenType::kBlockEnd)) {
    if (!with->targets.empty()) expect_operator(",");
    with->targets.push_back(parse_target());
    mark_target(*with->targets.back(), NameUse::kParameter);
    expect_operator("=");
    with->expressions.push_back(parse_expression());
  }
  with->body = parse_block_and_close("endwith");
  return with;
}

void Parser::parse_signature(Statement& statement) {
  expect_operator("(");
  while (!at_operator(")")) {
    if (!statement.parameters.empty()) expect_operator(",");
    statement.parameters.push_back(parse_target_name(NameUse::kParameter));
    if (skip_operator("=")) {
      statement.defaults.push_back(parse_expression());
    } else if (!statement.defaults.empty()) {
      fail("non-default argument follows default argument");
    }
  }
  expect_operator(")");
}

StatementPointer Parser::parse_macro() {
  auto macro = make_statement(Statement::Kind::kMacro, advance().line);
  macro->text = parse_target_name(NameUse::kStore)->name;
  parse_signature(*macro);
  const int outer_loops = std::exchange(loop_depth_, 0);
  macro->body = parse_block_and_close("endmacro");
  loop_depth_ = outer_loops;
  return macro;
}

StatementPointer Parser::parse_call() {
  auto call = make_statement(Statement::Kind::kCall, advance().line);
  if (at_operator("(")) parse_signature(*call);
  call->expression = parse_expression();
  if (call->expression->kind != Expression::Kind::kCall) fail("expected call", call->line);
  const int outer_loops = std::exchange(loop_depth_, 0);
  call->body = parse_block_and_close("endcall");
  loop_depth_ = outer_loops;
  return call;
}

StatementPointer Parser::parse_filter_block() {
  auto filter = make_statement(Statement::Kind::kFilter, advance().line);
  filter->expression = parse_filter_chain(parse_filter(nullptr));
  filter->body = parse_block_and_close("endfilter");
  return filter;
}

StatementPointer Parser::parse_print() {
  auto print = make_statement(Statement::Kind::kPrint, advance().line);
  while (!at(TokenType::kBlockEnd)) {
    if (!print->expressions.empty()) expect_operator(",");
    print->expressions.push_back(parse_expression());
  }
  return print;
}

StatementPointer Parser::parse_named_block() {
  auto block = make_statement(Statement::Kind::kBlock, advance().line);
  block->text = expect(TokenType::kName, "name").text;
  skip_name("scoped");
  skip_name("required");
  if (at_operator("-"))
    fail(
        "Block names in Jinja have to be valid Python identifiers and may not contain hyphens, use an "
        "underscore instead.");
  const int outer_loops = std::exchange(loop_depth_, 0);
  block->body = parse_block_and_close("endblock");
  loop_depth_ = outer_loops;
  skip_name(block->text);
  return block;
}

StatementPointer Parser::parse_scope(std::string_view end) {
  auto scope = make_statement(Statement::Kind::kScope, advance().line);
  scope->body = parse_block_and_close(end);
  return scope;
}

StatementPointer Parser::parse_autoescape() {
  auto scope = make_statement(Statement::Kind::kScope, advance().line);
  const ExpressionPointer on = parse_expression();
  if (on->kind != Expression::Kind::kConstant || on->value.truthy())
    throw Fault(FaultKind::kUnsupported,
                "line " + std::to_string(scope->line) + ": autoescape is not supported");
  scope->body = parse_block_and_close("endautoescape");
  return scope;
}

StatementPointer Parser::parse_loop_control(Statement::Kind kind) {
  const Token tag = advance();
  if (loop_depth_ == 0)
    fail(tag.text == "break" ? "'break' outside loop" : "'continue' not properly in loop", tag.line);
  return make_statement(kind, tag.line);
}

}  // namespace lanner::text::jinja
