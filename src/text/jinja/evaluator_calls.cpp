// SPDX-License-Identifier: MIT
#include <algorithm>

#include "text/jinja/evaluator.h"
#include "text/jinja/fault.h"
#include "text/jinja/iteration.h"
#include "text/jinja/loop_context.h"
#include "text/jinja/macro.h"
#include "text/jinja/text_builder.h"
#include "text/jinja/value_text.h"

namespace lanner::text::jinja {

std::string Macro::repr() const {
  return definition_.text.empty() ? "<Macro anonymous>" : "<Macro " + quoted_repr(definition_.text) + ">";
}

Value Macro::attribute(std::string_view name) {
  if (name == "name") return definition_.text.empty() ? Value::none() : Value::text(definition_.text);
  if (name == "catch_kwargs") return Value::boolean(definition_.uses_kwargs);
  if (name == "catch_varargs") return Value::boolean(definition_.uses_varargs);
  if (name == "caller") return Value::boolean(definition_.uses_caller);
  if (name != "arguments") return Value();
  std::vector<Value> names;
  for (const auto& parameter : definition_.parameters) names.push_back(Value::text(parameter->name));
  return Value::tuple(std::move(names));
}

class Evaluator::DepthGuard {
 public:
  explicit DepthGuard(Evaluator& evaluator) : depth_(evaluator.macro_depth) {
    if (depth_ >= evaluator.limits().max_macro_depth)
      throw Fault(FaultKind::kLimit, "maximum recursion depth exceeded");
    ++depth_;
  }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  int& depth_;
};

/// The elements of a loop that pass its "if".
class Evaluator::FilteredIterator : public Iterator {
 public:
  FilteredIterator(Evaluator& evaluator, const Statement& loop, ActivationPointer frame,
                   std::unique_ptr<Iterator> source)
      : evaluator_(evaluator), loop_(loop), frame_(std::move(frame)), source_(std::move(source)) {
    evaluator_.enter_scope(loop.test_scope, *frame_);
  }

  bool next(Value& out) override {
    for (Value item; source_->next(item);) {
      evaluator_.spend(1);
      evaluator_.assign(*loop_.test_target, item, frame_);
      if (!evaluator_.evaluate(*loop_.test, frame_).truthy()) continue;
      const bool unpacked = loop_.target->kind == Expression::Kind::kTuple;
      out = unpacked ? Value::tuple(collect(evaluator_, item)) : item;
      return true;
    }
    return false;
  }

 private:
  Evaluator& evaluator_;
  const Statement& loop_;
  ActivationPointer frame_;
  std::unique_ptr<Iterator> source_;
};

Evaluator::Flow Evaluator::execute_for(const Statement& loop, const ActivationPointer& frame,
                                       TextBuilder& out) {
  const Value iterable = evaluate(*loop.expression, frame);
  line_ = loop.line;
  if (!loop.recursive) return run_loop(loop, frame, frame, iterable, 0, out);
  print(run_recursive_loop(loop, frame, iterable, 0), out);
  return Flow::kNormal;
}

Value Evaluator::run_recursive_loop(const Statement& loop, const ActivationPointer& closure,
                                    const Value& iterable, int depth) {
  DepthGuard guard(*this);
  const auto frame = std::make_shared<Activation>();
  frame->slots.resize(static_cast<size_t>(loop.slot_count));
  frame->parent = closure;
  TextBuilder out;
  run_loop(loop, frame, closure, iterable, depth, out);
  return out.take();
}

std::shared_ptr<LoopContext> Evaluator::make_loop_context(const Statement& loop,
                                                          const ActivationPointer& frame,
                                                          const ActivationPointer& outer,
                                                          const Value& iterable, int depth,
                                                          std::unique_ptr<Iterator> source) {
  LoopContext::Recurse recurse;
  if (loop.recursive)
    recurse = [this, &loop, outer](const Value& inner, int level) {
      return run_recursive_loop(loop, outer, inner, level);
    };
  const std::optional<size_t> length = loop.test ? std::nullopt : length_of(iterable);
  auto context =
      std::make_shared<LoopContext>(*this, iterable, std::move(source), length, depth, std::move(recurse));
  // The filter, stored elements and closures may lead back to the loop when an error leaves it.
  if (loop.recursive || loop.test || frame->captured)
    on_finish([weak = std::weak_ptr<LoopContext>(context)] {
      if (const auto alive = weak.lock()) alive->release();
    });
  return context;
}

Evaluator::Flow Evaluator::run_loop(const Statement& loop, const ActivationPointer& frame,
                                    const ActivationPointer& outer, const Value& iterable, int depth,
                                    TextBuilder& out) {
  std::unique_ptr<Iterator> source = iterate(iterable);
  if (loop.test)
    source = std::make_unique<FilteredIterator>(*this, loop, outer, std::exchange(source, nullptr));
  std::shared_ptr<LoopContext> context;
  if (loop.uses_loop)
    context = make_loop_context(loop, frame, outer, iterable, depth, std::exchange(source, nullptr));
  bool completed = false;  // As in Jinja2, a break or continue in every round leaves the loop's else to run.
  for (Value item; context ? context->next(item) : source->next(item);) {
    spend(1);
    line_ = loop.line;
    assign(*loop.target, item, frame);
    if (context) frame->slots[static_cast<size_t>(loop.loop_slot)] = Value::object(context);
    enter_scope(loop.scope, *frame);
    const Flow flow = execute(loop.body, frame, out);
    if (flow == Flow::kBreak) break;
    completed |= flow == Flow::kNormal;
  }
  if (context) frame->slots[static_cast<size_t>(loop.loop_slot)] = Value();
  if (completed || loop.else_body.empty()) return Flow::kNormal;
  enter_scope(loop.else_scope, *frame);
  return execute(loop.else_body, frame, out);
}

Value Evaluator::call_macro(const Statement& macro, const ActivationPointer& closure,
                            const CallArguments& arguments) {
  DepthGuard guard(*this);
  const int call_line = line_;
  const auto frame = std::make_shared<Activation>();
  frame->slots.resize(static_cast<size_t>(macro.slot_count));
  frame->parent = closure;
  bind_macro_arguments(macro, frame, arguments);
  TextBuilder out;
  execute(macro.body, frame, out);
  line_ = call_line;
  return out.take();
}

void Evaluator::bind_macro_arguments(const Statement& macro, const ActivationPointer& frame,
                                     const CallArguments& arguments) {
  const size_t count = macro.parameters.size();
  auto keywords = arguments.keyword;
  bool found_caller = false;
  const bool all_by_position = arguments.positional.size() >= count;
  for (size_t i = 0; i < count; ++i) {
    const Expression& parameter = *macro.parameters[i];
    Value& slot = slot_of(parameter.slot, frame);
    found_caller |= parameter.name == "caller" && (all_by_position || i >= arguments.positional.size());
    if (i < arguments.positional.size()) {
      slot = arguments.positional[i];
      continue;
    }
    const auto given = std::find_if(keywords.begin(), keywords.end(),
                                    [&](const auto& keyword) { return keyword.first == parameter.name; });
    if (given == keywords.end()) continue;
    slot = given->second;
    keywords.erase(given);
  }
  bind_implicit_arguments(macro, *frame, arguments, keywords, found_caller);
  enter_scope(macro.scope, *frame);
  const size_t required = count - macro.defaults.size();
  for (size_t i = 0; i < count; ++i) {
    const Expression& parameter = *macro.parameters[i];
    if (!slot_of(parameter.slot, frame).is_missing()) continue;
    Value value = i < required
                      ? Value::undefined("parameter " + quoted_repr(parameter.name) + " was not provided")
                      : evaluate(*macro.defaults[i - required], frame);
    slot_of(parameter.slot, frame) = std::move(value);
  }
}

void Evaluator::bind_implicit_arguments(const Statement& macro, Activation& frame,
                                        const CallArguments& arguments,
                                        std::vector<std::pair<std::string, Value>>& keywords,
                                        bool found_caller) {
  const std::string name = macro.text.empty() ? "None" : quoted_repr(macro.text);
  if (macro.uses_caller && !found_caller && macro.caller_slot >= 0) {
    const auto caller = std::find_if(keywords.begin(), keywords.end(),
                                     [](const auto& keyword) { return keyword.first == "caller"; });
    Value value = Value::undefined("No caller defined");
    if (caller != keywords.end()) {
      if (!caller->second.is_none()) value = caller->second;
      keywords.erase(caller);
    }
    frame.slots[static_cast<size_t>(macro.caller_slot)] = value;
  }
  if (macro.uses_kwargs) {
    Dict rest;
    for (const auto& [key, value] : keywords) rest.set(Value::text(key), value);
    frame.slots[static_cast<size_t>(macro.kwargs_slot)] = Value::dict(std::move(rest));
  } else if (!keywords.empty()) {
    throw Fault(FaultKind::kType,
                "macro " + name + " takes no keyword argument " + quoted_repr(keywords[0].first));
  }
  const size_t count = macro.parameters.size();
  const bool extra = arguments.positional.size() > count;
  if (macro.uses_varargs) {
    std::vector<Value> rest;
    if (extra)
      rest.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(count),
                  arguments.positional.end());
    frame.slots[static_cast<size_t>(macro.varargs_slot)] = Value::tuple(std::move(rest));
  } else if (extra) {
    throw Fault(FaultKind::kType,
                "macro " + name + " takes not more than " + std::to_string(count) + " argument(s)");
  }
}

}  // namespace lanner::text::jinja
