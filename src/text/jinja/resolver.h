// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "text/jinja/ast.h"

namespace lanner::text::jinja {

/// Binds every name of a parsed template to a slot, with the scoping rules of Jinja2's own compiler
/// (idtracking): loops, with, set blocks and filter blocks have scopes of their own, if has none, macros
/// close over the variables around them, and a name that a scope stores but has not read before starts unset
/// there even if the context has it. Also checks what Jinja2 checks when compiling: filter and test names,
/// assignments to "loop".
class Resolver {
 public:
  void resolve(SyntaxTree& tree);

 private:
  /// A unit with its own activation: the template, a macro, a caller body, a recursive loop, a block.
  struct Function {
    int depth = 0;
    int slots = 0;
  };
  struct Reference {
    const Function* function;
    int slot;
  };
  class Symbols;
  class SymbolVisitor;
  struct Frame;

  void resolve_body(Body& body, Frame& frame);
  void resolve_statement(Statement& statement, Frame& frame);
  void resolve_for(Statement& loop, Frame& frame);
  void resolve_if(Statement& statement, Frame& frame);
  void resolve_set_block(Statement& statement, Frame& frame);
  void resolve_with(Statement& statement, Frame& frame);
  void resolve_filter_block(Statement& statement, Frame& frame);
  void resolve_block(Statement& statement);
  void resolve_macro_body(Statement& macro, Frame& outer);
  void declare_implicit_parameters(Statement& macro, Symbols& symbols);
  void resolve_expression(Expression* node, Frame& frame);
  void resolve_arguments(Expression& node, Frame& frame);
  SlotReference reference(const std::string& name, const Frame& frame) const;
};

}  // namespace lanner::text::jinja
