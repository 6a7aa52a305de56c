// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>

#include "text/jinja/parser.h"

namespace lanner::text::jinja {
namespace {

struct NamedOperator {
  std::string_view text;
  Operator op;
};

constexpr NamedOperator kComparisons[] = {{"==", Operator::kEqual},  {"!=", Operator::kNotEqual},
                                          {"<", Operator::kLess},    {"<=", Operator::kLessEqual},
                                          {">", Operator::kGreater}, {">=", Operator::kGreaterEqual}};
constexpr NamedOperator kSums[] = {{"+", Operator::kAdd}, {"-", Operator::kSubtract}};
constexpr NamedOperator kProducts[] = {{"*", Operator::kMultiply},
                                       {"/", Operator::kDivide},
                                       {"//", Operator::kFloorDivide},
                                       {"%", Operator::kModulo}};

template <size_t N>
const NamedOperator* find_operator(const NamedOperator (&table)[N], const Token& token) {
  if (token.type != TokenType::kOperator) return nullptr;
  const auto* found = std::find_if(std::begin(table), std::end(table),
                                   [&](const NamedOperator& row) { return row.text == token.text; });
  return found == std::end(table) ? nullptr : found;
}

}  // namespace

ExpressionPointer Parser::make(Expression::Kind kind, int line) const {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->line = line;
  return node;
}

ExpressionPointer Parser::make(Expression::Kind kind, int line, ExpressionPointer first,
                               ExpressionPointer second) const {
  ExpressionPointer node = make(kind, line);
  attach(*node, std::move(first));
  attach(*node, std::move(second));
  return node;
}

void Parser::deepen(Expression& parent, const Expression* child) const {
  constexpr int kMaxTreeDepth = 1000;
  if (!child) return;
  parent.depth = std::max(parent.depth, child->depth + 1);
  if (parent.depth > kMaxTreeDepth) fail("expression is too long", parent.line);
}

void Parser::attach(Expression& parent, ExpressionPointer child) const {
  deepen(parent, child.get());
  parent.children.push_back(std::move(child));
}

void Parser::set_arguments(Expression& call, Arguments arguments) const {
  for (const auto& argument : arguments.positional) deepen(call, argument.get());
  for (const auto& [name, value] : arguments.keywords) deepen(call, value.get());
  deepen(call, arguments.star.get());
  deepen(call, arguments.star_star.get());
  call.arguments = std::move(arguments.positional);
  call.keywords = std::move(arguments.keywords);
  call.star_arguments = std::move(arguments.star);
  call.star_keywords = std::move(arguments.star_star);
}

ExpressionPointer Parser::parse_expression(Conditions conditions) {
  DepthGuard guard(*this);
  return conditions == Conditions::kAllowed ? parse_condition() : parse_or();
}

ExpressionPointer Parser::parse_condition() {
  DepthGuard guard(*this);
  ExpressionPointer node = parse_or();
  while (at_name("if")) {
    ExpressionPointer choice = make(Expression::Kind::kCondition, advance().line);
    attach(*choice, parse_or());
    attach(*choice, std::move(node));
    attach(*choice, skip_name("else") ? parse_condition() : nullptr);
    node = std::move(choice);
  }
  return node;
}

ExpressionPointer Parser::parse_or() {
  ExpressionPointer node = parse_and();
  while (at_name("or")) {
    const int line = advance().line;
    node = make(Expression::Kind::kOr, line, std::move(node), parse_and());
  }
  return node;
}

ExpressionPointer Parser::parse_and() {
  ExpressionPointer node = parse_not();
  while (at_name("and")) {
    const int line = advance().line;
    node = make(Expression::Kind::kAnd, line, std::move(node), parse_not());
  }
  return node;
}

ExpressionPointer Parser::parse_not() {
  if (!at_name("not")) return parse_compare();
  DepthGuard guard(*this);
  ExpressionPointer node = make(Expression::Kind::kNot, advance().line);
  attach(*node, parse_not());
  return node;
}

ExpressionPointer Parser::parse_compare() {
  ExpressionPointer first = parse_sum();
  ExpressionPointer node;
  while (true) {
    Operator op = Operator::kEqual;
    const int line = current_.line;
    if (const NamedOperator* row = find_operator(kComparisons, current_)) {
      op = row->op;
      advance();
    } else if (skip_name("in")) {
      op = Operator::kIn;
    } else if (at_name("not") && look().type == TokenType::kName && look().text == "in") {
      op = Operator::kNotIn;
      advance();
      advance();
    } else {
      return node ? std::move(node) : std::move(first);
    }
    if (!node) {
      node = make(Expression::Kind::kCompare, line);
      attach(*node, std::move(first));
    }
    node->operators.push_back(op);
    attach(*node, parse_sum());
  }
}

ExpressionPointer Parser::parse_sum() {
  ExpressionPointer node = parse_concat();
  while (const NamedOperator* row = find_operator(kSums, current_)) {
    const int line = advance().line;
    node = make(Expression::Kind::kBinary, line, std::move(node), parse_concat());
    node->operators.push_back(row->op);
  }
  return node;
}

ExpressionPointer Parser::parse_concat() {
  ExpressionPointer first = parse_product();
  if (!at_operator("~")) return first;
  ExpressionPointer node = make(Expression::Kind::kConcat, current_.line);
  attach(*node, std::move(first));
  while (skip_operator("~")) attach(*node, parse_product());
  return node;
}

ExpressionPointer Parser::parse_product() {
  ExpressionPointer node = parse_power();
  while (const NamedOperator* row = find_operator(kProducts, current_)) {
    const int line = advance().line;
    node = make(Expression::Kind::kBinary, line, std::move(node), parse_power());
    node->operators.push_back(row->op);
  }
  return node;
}

ExpressionPointer Parser::parse_power() {
  ExpressionPointer node = parse_unary();
  while (at_operator("**")) {
    const int line = advance().line;
    node = make(Expression::Kind::kBinary, line, std::move(node), parse_unary());
    node->operators.push_back(Operator::kPower);
  }
  return node;
}

ExpressionPointer Parser::parse_unary() { return parse_postfix_filters(parse_signed()); }

// A sign binds looser than subscripts but tighter than filters, as in Jinja2.
ExpressionPointer Parser::parse_signed() {
  DepthGuard guard(*this);
  if (!at_operator("-") && !at_operator("+")) return parse_postfix(parse_primary());
  const auto kind = at_operator("-") ? Expression::Kind::kNegate : Expression::Kind::kPlus;
  ExpressionPointer node = make(kind, advance().line);
  attach(*node, parse_signed());
  return parse_postfix(std::move(node));
}

}  // namespace lanner::text::jinja
