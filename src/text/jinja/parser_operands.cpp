// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>

#include "text/jinja/parser.h"

namespace lanner::text::jinja {
namespace {

std::string lower_kind_name(Expression::Kind kind) {
  switch (kind) {
    case Expression::Kind::kConstant:
      return "const";
    case Expression::Kind::kList:
      return "list";
    case Expression::Kind::kDict:
      return "dict";
    case Expression::Kind::kCall:
      return "call";
    case Expression::Kind::kAttribute:
      return "getattr";
    case Expression::Kind::kSubscript:
      return "getitem";
    default:
      return "expression";
  }
}

}  // namespace

ExpressionPointer Parser::parse_primary() {
  const int line = current_.line;
  ExpressionPointer node = make(Expression::Kind::kConstant, line);
  if (at(TokenType::kName)) {
    const std::string name = advance().text;
    if (name == "true" || name == "True") {
      node->value = Value::boolean(true);
    } else if (name == "false" || name == "False") {
      node->value = Value::boolean(false);
    } else if (name == "none" || name == "None") {
      node->value = Value::none();
    } else {
      node->kind = Expression::Kind::kName;
      node->name = name;
    }
    return node;
  }
  if (at(TokenType::kString)) {
    std::string text;
    while (at(TokenType::kString)) text += advance().text;
    node->value = Value::text(std::move(text));
    return node;
  }
  if (at(TokenType::kNumber)) {
    node->value = advance().number;
    return node;
  }
  if (at_operator("(")) return parse_parenthesized();
  if (at_operator("[")) return parse_list();
  if (at_operator("{")) return parse_dict();
  fail("unexpected '" + describe(current_) + "'");
}

bool Parser::at_tuple_end() const {
  return at(TokenType::kVariableEnd) || at(TokenType::kBlockEnd) || at_operator(")");
}

ExpressionPointer Parser::parse_tuple(Conditions conditions) {
  const int line = current_.line;
  std::vector<ExpressionPointer> items;
  bool is_tuple = false;
  while (!at_tuple_end()) {
    items.push_back(parse_expression(conditions));
    if (!skip_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple) {
    if (items.empty()) fail("Expected an expression, got '" + describe(current_) + "'");
    return std::move(items[0]);
  }
  ExpressionPointer node = make(Expression::Kind::kTuple, line);
  for (ExpressionPointer& item : items) attach(*node, std::move(item));
  return node;
}

ExpressionPointer Parser::parse_parenthesized() {
  DepthGuard guard(*this);
  const int line = advance().line;
  ExpressionPointer node = at_operator(")") ? make(Expression::Kind::kTuple, line) : parse_tuple();
  expect_operator(")");
  return node;
}

ExpressionPointer Parser::parse_list() {
  DepthGuard guard(*this);
  ExpressionPointer node = make(Expression::Kind::kList, advance().line);
  while (!at_operator("]")) {
    if (!node->children.empty()) expect_operator(",");
    if (at_operator("]")) break;
    attach(*node, parse_expression());
  }
  expect_operator("]");
  return node;
}

ExpressionPointer Parser::parse_dict() {
  DepthGuard guard(*this);
  ExpressionPointer node = make(Expression::Kind::kDict, advance().line);
  while (!at_operator("}")) {
    if (!node->children.empty()) expect_operator(",");
    if (at_operator("}")) break;
    attach(*node, parse_expression());
    expect_operator(":");
    attach(*node, parse_expression());
  }
  expect_operator("}");
  return node;
}

ExpressionPointer Parser::parse_postfix(ExpressionPointer node) {
  while (true) {
    if (at_operator(".") || at_operator("["))
      node = parse_subscript(std::move(node));
    else if (at_operator("("))
      node = parse_call_expression(std::move(node));
    else
      return node;
  }
}

ExpressionPointer Parser::parse_postfix_filters(ExpressionPointer node) {
  while (true) {
    if (skip_operator("|"))
      node = parse_filter(std::move(node));
    else if (at_name("is"))
      node = parse_test(std::move(node));
    else if (at_operator("("))
      node = parse_call_expression(std::move(node));
    else
      return node;
  }
}

ExpressionPointer Parser::parse_subscript(ExpressionPointer node) {
  const Token opening = advance();
  if (opening.text == ".") {
    const Token name = advance();
    if (name.type == TokenType::kName) {
      ExpressionPointer attribute = make(Expression::Kind::kAttribute, opening.line);
      attribute->name = name.text;
      attach(*attribute, std::move(node));
      return attribute;
    }
    if (name.type != TokenType::kNumber || !name.number.is(Kind::kInt))
      fail("expected name or number", name.line);
    ExpressionPointer index = make(Expression::Kind::kConstant, name.line);
    index->value = name.number;
    return make(Expression::Kind::kSubscript, opening.line, std::move(node), std::move(index));
  }
  std::vector<ExpressionPointer> indices;
  while (!at_operator("]")) {
    if (!indices.empty()) expect_operator(",");
    indices.push_back(parse_subscript_index());
  }
  expect_operator("]");
  if (indices.size() == 1)
    return make(Expression::Kind::kSubscript, opening.line, std::move(node), std::move(indices[0]));
  ExpressionPointer tuple = make(Expression::Kind::kTuple, opening.line);
  for (ExpressionPointer& index : indices) attach(*tuple, std::move(index));
  return make(Expression::Kind::kSubscript, opening.line, std::move(node), std::move(tuple));
}

ExpressionPointer Parser::parse_subscript_index() {
  const int line = current_.line;
  const auto at_part_end = [&] { return at_operator(":") || at_operator("]") || at_operator(","); };
  ExpressionPointer first = at_operator(":") ? nullptr : parse_expression();
  if (!at_operator(":")) return first;
  advance();
  ExpressionPointer slice = make(Expression::Kind::kSlice, line);
  attach(*slice, std::move(first));
  attach(*slice, at_part_end() ? nullptr : parse_expression());
  const bool has_step = skip_operator(":");
  attach(*slice, has_step && !at_part_end() ? parse_expression() : nullptr);
  return slice;
}

ExpressionPointer Parser::parse_call_expression(ExpressionPointer node) {
  ExpressionPointer call = make(Expression::Kind::kCall, current_.line);
  Arguments arguments = parse_arguments();
  attach(*call, std::move(node));
  set_arguments(*call, std::move(arguments));
  return call;
}

Parser::Arguments Parser::parse_arguments() {
  DepthGuard guard(*this);
  Arguments arguments;
  const int line = current_.line;
  expect_operator("(");
  bool first = true;
  while (!at_operator(")")) {
    if (!first) expect_operator(",");
    if (at_operator(")")) break;
    parse_argument(arguments, line);
    first = false;
  }
  expect_operator(")");
  return arguments;
}

void Parser::parse_argument(Arguments& arguments, int line) {
  const auto ensure = [&](bool valid) {
    if (!valid) fail("invalid syntax for function call expression", line);
  };
  if (skip_operator("*")) {
    ensure(!arguments.star && !arguments.star_star);
    arguments.star = parse_expression();
  } else if (skip_operator("**")) {
    ensure(!arguments.star_star);
    arguments.star_star = parse_expression();
  } else if (at(TokenType::kName) && look().type == TokenType::kOperator && look().text == "=") {
    ensure(!arguments.star_star);
    std::string name = advance().text;
    advance();
    arguments.keywords.emplace_back(std::move(name), parse_expression());
  } else {
    ensure(!arguments.star && !arguments.star_star && arguments.keywords.empty());
    arguments.positional.push_back(parse_expression());
  }
}

std::string Parser::parse_dotted_name() {
  std::string name = expect(TokenType::kName, "name").text;
  while (skip_operator(".")) name += "." + expect(TokenType::kName, "name").text;
  return name;
}

// The filter after a "|" (or after the tag name of a filter block).
ExpressionPointer Parser::parse_filter(ExpressionPointer node) {
  ExpressionPointer filter = make(Expression::Kind::kFilter, current_.line);
  filter->name = parse_dotted_name();
  attach(*filter, std::move(node));
  if (!at_operator("(")) return filter;
  Arguments arguments = parse_arguments();
  set_arguments(*filter, std::move(arguments));
  return filter;
}

ExpressionPointer Parser::parse_filter_chain(ExpressionPointer node) {
  while (skip_operator("|")) node = parse_filter(std::move(node));
  return node;
}

ExpressionPointer Parser::parse_test(ExpressionPointer node) {
  ExpressionPointer test = make(Expression::Kind::kTest, advance().line);
  const bool negated = skip_name("not");
  test->name = parse_dotted_name();
  attach(*test, std::move(node));
  const bool starts_operand = at(TokenType::kName) || at(TokenType::kString) || at(TokenType::kNumber) ||
                              at_operator("[") || at_operator("{");
  if (at_operator("(")) {
    Arguments arguments = parse_arguments();
    set_arguments(*test, std::move(arguments));
  } else if (starts_operand && !at_name("else") && !at_name("or") && !at_name("and")) {
    if (at_name("is")) fail("You cannot chain multiple tests with is");
    test->arguments.push_back(parse_postfix(parse_primary()));
    deepen(*test, test->arguments.back().get());
  }
  if (!negated) return test;
  ExpressionPointer negation = make(Expression::Kind::kNot, test->line);
  attach(*negation, std::move(test));
  return negation;
}

ExpressionPointer Parser::parse_target_name(NameUse use) {
  const Token token = expect(TokenType::kName, "name");
  static constexpr std::string_view kReserved[] = {"true", "false", "none", "True", "False", "None"};
  if (std::find(std::begin(kReserved), std::end(kReserved), token.text) != std::end(kReserved))
    fail("can't assign to 'name'", token.line);
  ExpressionPointer node = make(Expression::Kind::kName, token.line);
  node->name = token.text;
  node->use = use;
  return node;
}

// Names and tuples of names, as in for, set and with.
ExpressionPointer Parser::parse_target() {
  const int line = current_.line;
  std::vector<ExpressionPointer> items;
  bool is_tuple = false;
  while (!at_tuple_end()) {
    items.push_back(parse_primary());
    if (!skip_operator(",")) break;
    is_tuple = true;
  }
  if (items.empty() && !is_tuple) fail("Expected an expression, got '" + describe(current_) + "'");
  ExpressionPointer target;
  if (is_tuple) {
    target = make(Expression::Kind::kTuple, line);
    for (ExpressionPointer& item : items) attach(*target, std::move(item));
  } else {
    target = std::move(items[0]);
  }
  mark_target(*target, NameUse::kStore);
  return target;
}

void Parser::mark_target(Expression& target, NameUse use) const {
  if (target.kind == Expression::Kind::kName) {
    target.use = use;
    return;
  }
  if (target.kind != Expression::Kind::kTuple)
    fail("can't assign to '" + lower_kind_name(target.kind) + "'", target.line);
  for (const ExpressionPointer& child : target.children) mark_target(*child, use);
}

ExpressionPointer Parser::parse_set_target() {
  const Token& after = look();
  if (after.type != TokenType::kOperator || after.text != ".") return parse_target();
  const Token name = expect(TokenType::kName, "name");
  advance();
  ExpressionPointer node = make(Expression::Kind::kNamespaceAttribute, name.line);
  node->name = name.text;
  node->attribute = expect(TokenType::kName, "name").text;
  return node;
}

}  // namespace lanner::text::jinja
