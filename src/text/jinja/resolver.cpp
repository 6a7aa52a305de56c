// SPDX-License-Identifier: MIT
#include "text/jinja/resolver.h"

#include "text/jinja/filters.h"
#include "text/jinja/lexer.h"
#include "text/jinja/resolver_symbols.h"

namespace lanner::text::jinja {
namespace {

// The loop's filter binds the target in a scope of its own: it may run ahead of the body.
ExpressionPointer clone_target(const Expression& target) {
  auto copy = std::make_unique<Expression>();
  copy->kind = target.kind;
  copy->line = target.line;
  copy->name = target.name;
  copy->use = target.use;
  for (const auto& child : target.children) copy->children.push_back(clone_target(*child));
  return copy;
}

}  // namespace

void Resolver::resolve(SyntaxTree& tree) {
  Function function;
  Frame frame{Symbols(nullptr, &function), true, false};
  SymbolVisitor(frame.symbols).visit(tree.body);
  tree.scope = frame.symbols.scope();
  resolve_body(tree.body, frame);
  tree.slot_count = function.slots;
}

void Resolver::resolve_body(Body& body, Frame& frame) {
  for (const auto& statement : body) resolve_statement(*statement, frame);
}

void Resolver::resolve_statement(Statement& statement, Frame& frame) {
  switch (statement.kind) {
    case Statement::Kind::kPrint:
      for (const auto& node : statement.expressions) resolve_expression(node.get(), frame);
      return;
    case Statement::Kind::kFor:
      return resolve_for(statement, frame);
    case Statement::Kind::kIf:
      return resolve_if(statement, frame);
    case Statement::Kind::kSet:
      resolve_expression(statement.expression.get(), frame);
      resolve_expression(statement.target.get(), frame);
      statement.exports = frame.top_level;
      return;
    case Statement::Kind::kSetBlock:
      return resolve_set_block(statement, frame);
    case Statement::Kind::kWith:
      return resolve_with(statement, frame);
    case Statement::Kind::kMacro:
      resolve_macro_body(statement, frame);
      statement.slot = reference(statement.text, frame);
      statement.exports = frame.top_level;
      return;
    case Statement::Kind::kCall:
      resolve_macro_body(statement, frame);
      resolve_expression(statement.expression.get(), frame);
      return;
    case Statement::Kind::kFilter:
      return resolve_filter_block(statement, frame);
    case Statement::Kind::kScope: {
      Frame inner{Symbols(&frame.symbols, frame.symbols.function())};
      SymbolVisitor(inner.symbols).visit(statement.body);
      resolve_body(statement.body, inner);
      statement.scope = inner.symbols.scope();
      return;
    }
    case Statement::Kind::kBlock:
      return resolve_block(statement);
    default:
      return;
  }
}

void Resolver::resolve_for(Statement& loop, Frame& frame) {
  Function own;
  own.depth = frame.symbols.function()->depth + 1;
  Function* function = loop.recursive ? &own : frame.symbols.function();
  Frame body{Symbols(&frame.symbols, function)};
  loop.uses_loop = loop.recursive || !find_undeclared(loop.body, {"loop"}).empty();
  if (loop.uses_loop) loop.loop_slot = body.symbols.declare_parameter("loop");
  if (const Expression* store = find_store(loop, "loop"))
    throw SyntaxFault("Can't assign to special loop variable in for-loop target", store->line);
  SymbolVisitor body_visitor(body.symbols);
  body_visitor.visit_parameters(*loop.target);
  body_visitor.visit(loop.body);
  Frame otherwise{Symbols(&frame.symbols, function)};
  SymbolVisitor(otherwise.symbols).visit(loop.else_body);
  if (loop.test) {
    Frame test{Symbols(&frame.symbols, frame.symbols.function())};
    SymbolVisitor test_visitor(test.symbols);
    test_visitor.visit_parameters(*loop.target);
    test_visitor.visit(loop.test.get());
    loop.test_target = clone_target(*loop.target);
    resolve_expression(loop.test_target.get(), test);
    resolve_expression(loop.test.get(), test);
    loop.test_scope = test.symbols.scope();
  }
  resolve_expression(loop.expression.get(), frame);
  resolve_expression(loop.target.get(), body);
  loop.scope = body.symbols.scope();
  loop.else_scope = otherwise.symbols.scope();
  resolve_body(loop.body, body);
  resolve_body(loop.else_body, otherwise);
  loop.slot_count = own.slots;
}

void Resolver::resolve_if(Statement& statement, Frame& frame) {
  const bool was_soft = std::exchange(frame.soft, true);
  resolve_expression(statement.test.get(), frame);
  resolve_body(statement.body, frame);
  resolve_body(statement.elifs, frame);
  resolve_body(statement.else_body, frame);
  frame.soft = was_soft;
}

void Resolver::resolve_set_block(Statement& statement, Frame& frame) {
  Frame inner{Symbols(&frame.symbols, frame.symbols.function())};
  SymbolVisitor visitor(inner.symbols);
  visitor.visit(statement.body);
  visitor.visit(statement.expression.get());
  resolve_body(statement.body, inner);
  resolve_expression(statement.expression.get(), inner);
  resolve_expression(statement.target.get(), frame);
  statement.scope = inner.symbols.scope();
  statement.exports = frame.top_level;
}

void Resolver::resolve_with(Statement& statement, Frame& frame) {
  Frame inner{Symbols(&frame.symbols, frame.symbols.function())};
  SymbolVisitor visitor(inner.symbols);
  for (const auto& target : statement.targets) visitor.visit_parameters(*target);
  visitor.visit(statement.body);
  for (const auto& node : statement.expressions) resolve_expression(node.get(), frame);
  for (const auto& target : statement.targets) resolve_expression(target.get(), inner);
  resolve_body(statement.body, inner);
  statement.scope = inner.symbols.scope();
}

void Resolver::resolve_filter_block(Statement& statement, Frame& frame) {
  Frame inner{Symbols(&frame.symbols, frame.symbols.function())};
  SymbolVisitor visitor(inner.symbols);
  visitor.visit(statement.body);
  visitor.visit(statement.expression.get());
  resolve_body(statement.body, inner);
  resolve_expression(statement.expression.get(), inner);
  statement.scope = inner.symbols.scope();
}

// A block sees only the context, not the variables around it.
void Resolver::resolve_block(Statement& statement) {
  Function function;
  Frame frame{Symbols(nullptr, &function)};
  SymbolVisitor(frame.symbols).visit(statement.body);
  resolve_body(statement.body, frame);
  statement.scope = frame.symbols.scope();
  statement.slot_count = function.slots;
}

void Resolver::resolve_macro_body(Statement& macro, Frame& outer) {
  Function function;
  function.depth = outer.symbols.function()->depth + 1;
  Frame frame{Symbols(&outer.symbols, &function)};
  for (const auto& parameter : macro.parameters) frame.symbols.declare_parameter(parameter->name);
  SymbolVisitor visitor(frame.symbols);
  for (const auto& value : macro.defaults) visitor.visit(value.get());
  visitor.visit(macro.body);
  declare_implicit_parameters(macro, frame.symbols);
  for (const auto& parameter : macro.parameters) parameter->slot = reference(parameter->name, frame);
  for (const auto& value : macro.defaults) resolve_expression(value.get(), frame);
  macro.scope = frame.symbols.scope();
  resolve_body(macro.body, frame);
  macro.slot_count = function.slots;
}

void Resolver::declare_implicit_parameters(Statement& macro, Symbols& symbols) {
  const auto undeclared = find_undeclared(macro.body, {"caller", "kwargs", "varargs"});
  const auto position_of = [&](std::string_view name) {
    return std::find_if(macro.parameters.begin(), macro.parameters.end(),
                        [&](const ExpressionPointer& parameter) { return parameter->name == name; });
  };
  const auto explicit_caller = position_of("caller");
  if (undeclared.count("caller")) {
    macro.uses_caller = true;
    if (explicit_caller == macro.parameters.end()) {
      macro.caller_slot = symbols.declare_parameter("caller");
    } else {
      const auto required = macro.parameters.size() - macro.defaults.size();
      if (static_cast<size_t>(explicit_caller - macro.parameters.begin()) < required)
        throw SyntaxFault(
            "When defining macros or call blocks the special \"caller\" argument must be omitted or be given "
            "a default.",
            macro.line);
    }
  }
  const auto implicit = [&](const std::string& name) {
    return undeclared.count(name) && position_of(name) == macro.parameters.end();
  };
  if (implicit("kwargs")) {
    macro.uses_kwargs = true;
    macro.kwargs_slot = symbols.declare_parameter("kwargs");
  }
  if (implicit("varargs")) {
    macro.uses_varargs = true;
    macro.varargs_slot = symbols.declare_parameter("varargs");
  }
}

SlotReference Resolver::reference(const std::string& name, const Frame& frame) const {
  const std::optional<Reference> found = frame.symbols.find(name);
  if (!found) throw Fault(FaultKind::kTemplate, "name '" + name + "' was not resolved");
  return {frame.symbols.function()->depth - found->function->depth, found->slot};
}

void Resolver::resolve_expression(Expression* node, Frame& frame) {
  if (!node) return;
  using NodeKind = Expression::Kind;
  if (node->kind == NodeKind::kName || node->kind == NodeKind::kNamespaceAttribute)
    node->slot = reference(node->name, frame);
  if (!frame.soft) {
    if (node->kind == NodeKind::kFilter && !find_filter(node->name))
      throw SyntaxFault("No filter named '" + node->name + "'.", node->line);
    if (node->kind == NodeKind::kTest && !find_test(node->name))
      throw SyntaxFault("No test named '" + node->name + "'.", node->line);
  }
  const bool was_soft = frame.soft;
  frame.soft = was_soft || node->kind == NodeKind::kCondition;
  for (const auto& child : node->children) resolve_expression(child.get(), frame);
  resolve_arguments(*node, frame);
  frame.soft = was_soft;
}

void Resolver::resolve_arguments(Expression& node, Frame& frame) {
  for (const auto& argument : node.arguments) resolve_expression(argument.get(), frame);
  for (const auto& [name, value] : node.keywords) resolve_expression(value.get(), frame);
  resolve_expression(node.star_arguments.get(), frame);
  resolve_expression(node.star_keywords.get(), frame);
}

}  // namespace lanner::text::jinja
