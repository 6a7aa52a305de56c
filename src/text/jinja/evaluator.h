// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

namespace lanner::text::jinja {

class LoopContext;
class TextBuilder;

/// The variables of one running function (template, macro, caller body, recursive loop).
struct Activation {
  std::vector<Value> slots;
  std::shared_ptr<Activation> parent;
  bool captured = false;  ///< A macro closes over it, so it may be part of a reference cycle.
};
using ActivationPointer = std::shared_ptr<Activation>;

/// Runs a resolved template once.
class Evaluator : public Runtime {
 public:
  using Variables = std::unordered_map<std::string, Value>;

  Evaluator(const SyntaxTree& tree, Variables variables, const Limits& limits);

  /// Renders; what users wrote is marked in the result.
  TextBuilder run();
  /// Line of the last thing evaluated, for error messages.
  int line() const { return line_; }

  /// Calls a macro or a caller body; `macro` and `closure` come from its definition.
  Value call_macro(const Statement& macro, const ActivationPointer& closure, const CallArguments& arguments);
  /// Runs a recursive loop over `iterable`.
  Value run_recursive_loop(const Statement& loop, const ActivationPointer& closure, const Value& iterable,
                           int depth);

 private:
  enum class Flow { kNormal, kBreak, kContinue };
  class DepthGuard;
  class FilteredIterator;

  // Statements (evaluator.cpp).
  Flow execute(const Body& body, const ActivationPointer& frame, TextBuilder& out);
  Flow execute(const Statement& statement, const ActivationPointer& frame, TextBuilder& out);
  Flow execute_if(const Statement& statement, const ActivationPointer& frame, TextBuilder& out);
  Flow execute_with(const Statement& statement, const ActivationPointer& frame, TextBuilder& out);
  Flow execute_set_block(const Statement& statement, const ActivationPointer& frame);
  Flow execute_filter_block(const Statement& statement, const ActivationPointer& frame, TextBuilder& out);
  void execute_block(const Statement& statement, TextBuilder& out);
  void execute_call(const Statement& statement, const ActivationPointer& frame, TextBuilder& out);
  void print(const Value& value, TextBuilder& out);
  void define_macro(const Statement& macro, const ActivationPointer& frame);
  Value make_macro(const Statement& macro, const ActivationPointer& frame);
  void enter_scope(const Scope& scope, Activation& frame);
  void assign(const Expression& target, const Value& value, const ActivationPointer& frame);
  void export_names(const Expression& target, const ActivationPointer& frame);

  // Loops and macro calls (evaluator_calls.cpp).
  Flow execute_for(const Statement& loop, const ActivationPointer& frame, TextBuilder& out);
  Flow run_loop(const Statement& loop, const ActivationPointer& body_frame, const ActivationPointer& outer,
                const Value& iterable, int depth, TextBuilder& out);
  std::shared_ptr<LoopContext> make_loop_context(const Statement& loop, const ActivationPointer& frame,
                                                 const ActivationPointer& outer, const Value& iterable,
                                                 int depth, std::unique_ptr<Iterator> source);
  void bind_macro_arguments(const Statement& macro, const ActivationPointer& frame,
                            const CallArguments& arguments);
  void bind_implicit_arguments(const Statement& macro, Activation& frame, const CallArguments& arguments,
                               std::vector<std::pair<std::string, Value>>& keywords, bool found_caller);

  // Expressions (evaluator_expressions.cpp).
  Value evaluate(const Expression& node, const ActivationPointer& frame);
  Value evaluate_node(const Expression& node, const ActivationPointer& frame);
  Value evaluate_compare(const Expression& node, const ActivationPointer& frame);
  Value evaluate_concat(const Expression& node, const ActivationPointer& frame);
  Value evaluate_dict(const Expression& node, const ActivationPointer& frame);
  Value evaluate_subscript(const Expression& node, const ActivationPointer& frame);
  Value evaluate_call(const Expression& node, const ActivationPointer& frame, const Value* caller);
  Value evaluate_filter(const Expression& node, const ActivationPointer& frame);
  Value evaluate_condition(const Expression& node, const ActivationPointer& frame);
  Value load(const Expression& name, const ActivationPointer& frame);
  CallArguments evaluate_arguments(const Expression& node, const ActivationPointer& frame);
  std::vector<Value> evaluate_all(const std::vector<ExpressionPointer>& nodes,
                                  const ActivationPointer& frame);
  static Value& slot_of(const SlotReference& reference, const ActivationPointer& frame);
  Value resolve(const std::string& name) const;

  const SyntaxTree& tree_;
  Variables variables_;
  Variables exported_;
  const Value* filter_input_ = nullptr;  ///< What a filter block or filtered set block has rendered.
  int line_ = 1;
};

}  // namespace lanner::text::jinja
