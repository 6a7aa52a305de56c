// SPDX-License-Identifier: MIT
#include "text/jinja/evaluator.h"

#include "text/jinja/builtins.h"
#include "text/jinja/fault.h"
#include "text/jinja/iteration.h"
#include "text/jinja/macro.h"
#include "text/jinja/text_builder.h"
#include "text/jinja/value_text.h"

namespace lanner::text::jinja {

Evaluator::Evaluator(const SyntaxTree& tree, Variables variables, const Limits& limits)
    : Runtime(limits), tree_(tree), variables_(std::move(variables)) {}

TextBuilder Evaluator::run() {
  const auto frame = std::make_shared<Activation>();
  frame->slots.resize(static_cast<size_t>(tree_.slot_count));
  enter_scope(tree_.scope, *frame);
  TextBuilder out;
  execute(tree_.body, frame, out);
  return out;
}

void Evaluator::enter_scope(const Scope& scope, Activation& frame) {
  for (const SlotLoad& load : scope.loads) {
    Value& slot = frame.slots[static_cast<size_t>(load.slot)];
    switch (load.action) {
      case SlotLoad::Action::kParameter:
        break;
      case SlotLoad::Action::kResolve:
        slot = resolve(load.name);
        break;
      case SlotLoad::Action::kUnset:
        slot = Value();
        break;
      case SlotLoad::Action::kAlias: {
        Activation* source = &frame;
        for (int i = 0; i < load.source.hops; ++i) source = source->parent.get();
        slot = source->slots[static_cast<size_t>(load.source.slot)];
        break;
      }
    }
  }
}

Value Evaluator::resolve(const std::string& name) const {
  if (const auto at = exported_.find(name); at != exported_.end()) return at->second;
  const auto at = variables_.find(name);
  return at == variables_.end() ? Value() : at->second;
}

Evaluator::Flow Evaluator::execute(const Body& body, const ActivationPointer& frame, TextBuilder& out) {
  for (const auto& statement : body)
    if (const Flow flow = execute(*statement, frame, out); flow != Flow::kNormal) return flow;
  return Flow::kNormal;
}

Evaluator::Flow Evaluator::execute(const Statement& statement, const ActivationPointer& frame,
                                   TextBuilder& out) {
  spend(1);
  check_stack();
  line_ = statement.line;
  switch (statement.kind) {
    case Statement::Kind::kData:
      check_output(out.size() + statement.text.size());
      out.append(statement.text);
      return Flow::kNormal;
    case Statement::Kind::kPrint:
      for (const auto& node : statement.expressions) print(evaluate(*node, frame), out);
      return Flow::kNormal;
    case Statement::Kind::kFor:
      return execute_for(statement, frame, out);
    case Statement::Kind::kIf:
      return execute_if(statement, frame, out);
    case Statement::Kind::kSet:
      assign(*statement.target, evaluate(*statement.expression, frame), frame);
      if (statement.exports) export_names(*statement.target, frame);
      return Flow::kNormal;
    case Statement::Kind::kSetBlock:
      return execute_set_block(statement, frame);
    case Statement::Kind::kWith:
      return execute_with(statement, frame, out);
    case Statement::Kind::kMacro:
      define_macro(statement, frame);
      return Flow::kNormal;
    case Statement::Kind::kCall:
      execute_call(statement, frame, out);
      return Flow::kNormal;
    case Statement::Kind::kFilter:
      return execute_filter_block(statement, frame, out);
    case Statement::Kind::kScope:
      enter_scope(statement.scope, *frame);
      return execute(statement.body, frame, out);
    case Statement::Kind::kBlock:
      execute_block(statement, out);
      return Flow::kNormal;
    case Statement::Kind::kBreak:
      return Flow::kBreak;
    case Statement::Kind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNormal;
}

void Evaluator::print(const Value& value, TextBuilder& out) {
  if (value.is_undefined()) return;
  const Value shown = value.is_text() ? value : Value::text(text(value));
  spend(1 + shown.as_text().size() / 32);
  check_output(out.size() + shown.as_text().size());
  if (value.is_text() || !value.has_literal())
    out.append(shown);
  else
    out.append_literal(shown.as_text());
}

Evaluator::Flow Evaluator::execute_if(const Statement& statement, const ActivationPointer& frame,
                                      TextBuilder& out) {
  if (evaluate(*statement.test, frame).truthy()) return execute(statement.body, frame, out);
  for (const auto& branch : statement.elifs) {
    line_ = branch->line;
    if (evaluate(*branch->test, frame).truthy()) return execute(branch->body, frame, out);
  }
  return execute(statement.else_body, frame, out);
}

Evaluator::Flow Evaluator::execute_with(const Statement& statement, const ActivationPointer& frame,
                                        TextBuilder& out) {
  enter_scope(statement.scope, *frame);
  for (size_t i = 0; i < statement.targets.size(); ++i)
    assign(*statement.targets[i], evaluate(*statement.expressions[i], frame), frame);
  return execute(statement.body, frame, out);
}

Evaluator::Flow Evaluator::execute_set_block(const Statement& statement, const ActivationPointer& frame) {
  enter_scope(statement.scope, *frame);
  TextBuilder captured;
  // A break or continue inside the block leaves it before anything is stored.
  if (const Flow flow = execute(statement.body, frame, captured); flow != Flow::kNormal) return flow;
  Value value = captured.take();
  if (statement.expression) {
    const Value input = value;
    const Value* outer = std::exchange(filter_input_, &input);
    value = evaluate(*statement.expression, frame);
    filter_input_ = outer;
  }
  assign(*statement.target, value, frame);
  if (statement.exports) export_names(*statement.target, frame);
  return Flow::kNormal;
}

Evaluator::Flow Evaluator::execute_filter_block(const Statement& statement, const ActivationPointer& frame,
                                                TextBuilder& out) {
  enter_scope(statement.scope, *frame);
  TextBuilder captured;
  if (const Flow flow = execute(statement.body, frame, captured); flow != Flow::kNormal) return flow;
  const Value input = captured.take();
  const Value* outer = std::exchange(filter_input_, &input);
  print(evaluate(*statement.expression, frame), out);
  filter_input_ = outer;
  return Flow::kNormal;
}

void Evaluator::execute_block(const Statement& statement, TextBuilder& out) {
  const auto frame = std::make_shared<Activation>();
  frame->slots.resize(static_cast<size_t>(statement.slot_count));
  enter_scope(statement.scope, *frame);
  execute(statement.body, frame, out);
}

void Evaluator::execute_call(const Statement& statement, const ActivationPointer& frame, TextBuilder& out) {
  const Value caller = make_macro(statement, frame);
  print(evaluate_call(*statement.expression, frame, &caller), out);
}

Value Evaluator::make_macro(const Statement& macro, const ActivationPointer& frame) {
  if (!std::exchange(frame->captured, true))
    on_finish([weak = std::weak_ptr<Activation>(frame)] {
      if (const auto alive = weak.lock()) std::vector<Value>().swap(alive->slots);
    });
  return Value::object(std::make_shared<Macro>(*this, macro, frame));
}

void Evaluator::define_macro(const Statement& macro, const ActivationPointer& frame) {
  const Value value = make_macro(macro, frame);
  slot_of(macro.slot, frame) = value;
  if (macro.exports) exported_[macro.text] = value;
}

void Evaluator::assign(const Expression& target, const Value& value, const ActivationPointer& frame) {
  if (target.kind == Expression::Kind::kName) {
    slot_of(target.slot, frame) = value;
    return;
  }
  if (target.kind == Expression::Kind::kNamespaceAttribute) {
    const Value holder = slot_of(target.slot, frame);
    auto* space = holder.is(Kind::kObject) ? dynamic_cast<Namespace*>(holder.as_object().get()) : nullptr;
    line_ = target.line;
    if (!space) throw Fault(FaultKind::kTemplate, "cannot assign attribute on non-namespace object");
    space->set(target.attribute, value);
    return;
  }
  const size_t expected = target.children.size();
  if (!is_iterable(value))
    throw Fault(FaultKind::kType, "cannot unpack non-iterable " + value.type_name() + " object");
  const std::vector<Value> parts = collect(*this, value);
  if (parts.size() > expected)
    throw Fault(FaultKind::kValue, "too many values to unpack (expected " + std::to_string(expected) + ")");
  if (parts.size() < expected)
    throw Fault(FaultKind::kValue, "not enough values to unpack (expected " + std::to_string(expected) +
                                       ", got " + std::to_string(parts.size()) + ")");
  for (size_t i = 0; i < expected; ++i) assign(*target.children[i], parts[i], frame);
}

void Evaluator::export_names(const Expression& target, const ActivationPointer& frame) {
  if (target.kind == Expression::Kind::kName) exported_[target.name] = slot_of(target.slot, frame);
  for (const auto& child : target.children) export_names(*child, frame);
}

Value& Evaluator::slot_of(const SlotReference& reference, const ActivationPointer& frame) {
  Activation* holder = frame.get();
  for (int i = 0; i < reference.hops; ++i) holder = holder->parent.get();
  return holder->slots[static_cast<size_t>(reference.slot)];
}

}  // namespace lanner::text::jinja
