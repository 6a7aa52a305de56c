// SPDX-License-Identifier: MIT
#include "text/jinja/evaluator.h"
#include "text/jinja/fault.h"
#include "text/jinja/filters.h"
#include "text/jinja/iteration.h"
#include "text/jinja/methods.h"
#include "text/jinja/operators.h"
#include "text/jinja/text_builder.h"
#include "text/jinja/value_text.h"

namespace lanner::text::jinja {

Value Evaluator::evaluate(const Expression& node, const ActivationPointer& frame) {
  spend(1);
  check_stack();
  return evaluate_node(node, frame);
}

Value Evaluator::evaluate_node(const Expression& node, const ActivationPointer& frame) {
  const auto child = [&](size_t index) { return evaluate(*node.children[index], frame); };
  switch (node.kind) {
    case Expression::Kind::kConstant:
      return node.value;
    case Expression::Kind::kName:
      return load(node, frame);
    case Expression::Kind::kTuple:
      return Value::tuple(evaluate_all(node.children, frame));
    case Expression::Kind::kList:
      return Value::list(evaluate_all(node.children, frame));
    case Expression::Kind::kDict:
      return evaluate_dict(node, frame);
    case Expression::Kind::kNegate:
      return negate(child(0));
    case Expression::Kind::kPlus:
      return plus(child(0));
    case Expression::Kind::kNot:
      return Value::boolean(!child(0).truthy());
    case Expression::Kind::kAnd: {
      Value left = child(0);
      return left.truthy() ? child(1) : left;
    }
    case Expression::Kind::kOr: {
      Value left = child(0);
      return left.truthy() ? left : child(1);
    }
    case Expression::Kind::kBinary: {
      const Value left = child(0), right = child(1);
      line_ = node.line;
      return binary(*this, node.operators[0], left, right);
    }
    case Expression::Kind::kCompare:
      return evaluate_compare(node, frame);
    case Expression::Kind::kConcat:
      return evaluate_concat(node, frame);
    case Expression::Kind::kAttribute: {
      const Value object = child(0);
      line_ = node.line;
      return get_attribute(*this, object, node.name);
    }
    case Expression::Kind::kSubscript:
      return evaluate_subscript(node, frame);
    case Expression::Kind::kCall:
      return evaluate_call(node, frame, nullptr);
    case Expression::Kind::kFilter:
      return evaluate_filter(node, frame);
    case Expression::Kind::kTest: {
      const Value subject = child(0);
      const CallArguments arguments = evaluate_arguments(node, frame);
      line_ = node.line;
      const Test test = find_test(node.name);
      if (!test) throw Fault(FaultKind::kTemplate, "No test named " + quoted_repr(node.name) + " found.");
      return Value::boolean(test(*this, subject, arguments));
    }
    case Expression::Kind::kCondition:
      return evaluate_condition(node, frame);
    default:
      throw Fault(FaultKind::kType, "slices are only possible in subscripts");
  }
}

Value Evaluator::load(const Expression& name, const ActivationPointer& frame) {
  const Value& value = slot_of(name.slot, frame);
  return value.is_missing() ? Value::undefined(quoted_repr(name.name) + " is undefined") : value;
}

std::vector<Value> Evaluator::evaluate_all(const std::vector<ExpressionPointer>& nodes,
                                           const ActivationPointer& frame) {
  std::vector<Value> values;
  values.reserve(nodes.size());
  for (const auto& node : nodes) values.push_back(evaluate(*node, frame));
  return values;
}

Value Evaluator::evaluate_compare(const Expression& node, const ActivationPointer& frame) {
  Value left = evaluate(*node.children[0], frame);
  for (size_t i = 0; i < node.operators.size(); ++i) {
    Value right = evaluate(*node.children[i + 1], frame);
    line_ = node.line;
    if (!compare(*this, node.operators[i], left, right)) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Value Evaluator::evaluate_concat(const Expression& node, const ActivationPointer& frame) {
  TextBuilder out;
  for (const auto& part : node.children) print(evaluate(*part, frame), out);
  return out.take();
}

Value Evaluator::evaluate_dict(const Expression& node, const ActivationPointer& frame) {
  Dict entries;
  for (size_t i = 0; i < node.children.size(); i += 2) {
    Value key = evaluate(*node.children[i], frame);
    Value value = evaluate(*node.children[i + 1], frame);
    entries.set(std::move(key), std::move(value));
  }
  return Value::dict(std::move(entries));
}

Value Evaluator::evaluate_subscript(const Expression& node, const ActivationPointer& frame) {
  const Value object = evaluate(*node.children[0], frame);
  const Expression& index = *node.children[1];
  if (index.kind != Expression::Kind::kSlice) {
    const Value key = evaluate(index, frame);
    line_ = node.line;
    return get_item(*this, object, key);
  }
  const auto part = [&](size_t i) {
    return index.children[i] ? evaluate(*index.children[i], frame) : Value::none();
  };
  const Value start = part(0), stop = part(1), step = part(2);
  line_ = node.line;
  return get_slice(*this, object, start, stop, step);
}

Value Evaluator::evaluate_condition(const Expression& node, const ActivationPointer& frame) {
  if (evaluate(*node.children[0], frame).truthy()) return evaluate(*node.children[1], frame);
  if (node.children[2]) return evaluate(*node.children[2], frame);
  return Value::undefined("the inline if-expression on line " + std::to_string(node.line) +
                          " evaluated to false and no else section was defined.");
}

CallArguments Evaluator::evaluate_arguments(const Expression& node, const ActivationPointer& frame) {
  CallArguments arguments;
  arguments.positional = evaluate_all(node.arguments, frame);
  for (const auto& [name, value] : node.keywords)
    arguments.keyword.emplace_back(name, evaluate(*value, frame));
  if (node.star_arguments) {
    const std::vector<Value> more = collect(*this, evaluate(*node.star_arguments, frame));
    arguments.positional.insert(arguments.positional.end(), more.begin(), more.end());
  }
  if (node.star_keywords) {
    const Value more = evaluate(*node.star_keywords, frame);
    if (!more.is(Kind::kDict))
      throw Fault(FaultKind::kType, "argument after ** must be a mapping, not " + more.type_name());
    for (const auto& [key, value] : more.as_dict().entries()) {
      if (!key.is_text()) throw Fault(FaultKind::kType, "keywords must be strings");
      arguments.keyword.emplace_back(key.as_text(), value);
    }
  }
  return arguments;
}

Value Evaluator::evaluate_call(const Expression& node, const ActivationPointer& frame, const Value* caller) {
  const Expression& callee = *node.children[0];
  // A method of a plain value is called without making the bound method first.
  Method method = nullptr;
  Value object;
  if (callee.kind == Expression::Kind::kAttribute) {
    object = evaluate(*callee.children[0], frame);
    line_ = callee.line;
    if (!is_mutating_method(object, callee.name)) method = find_method(object, callee.name);
    if (!method) object = get_attribute(*this, object, callee.name);
  } else {
    object = evaluate(callee, frame);
  }
  CallArguments arguments = evaluate_arguments(node, frame);
  if (caller) arguments.keyword.emplace_back("caller", *caller);
  line_ = node.line;
  return method ? call_method(*this, method, object, arguments) : call_value(*this, object, arguments);
}

Value Evaluator::evaluate_filter(const Expression& node, const ActivationPointer& frame) {
  const Value input = node.children[0] ? evaluate(*node.children[0], frame) : *filter_input_;
  const CallArguments arguments = evaluate_arguments(node, frame);
  line_ = node.line;
  const Filter filter = find_filter(node.name);
  if (!filter) throw Fault(FaultKind::kTemplate, "No filter named " + quoted_repr(node.name) + " found.");
  return apply_filter(*this, filter, input, arguments);
}

}  // namespace lanner::text::jinja
