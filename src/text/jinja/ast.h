// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

/// The parsed template. One node struct per syntactic class keeps walks over the tree (name resolution)
/// short; the kind says which fields are used.
namespace lanner::text::jinja {

enum class Operator {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
};

enum class NameUse { kLoad, kStore, kParameter };

/// Where a variable lives: `hops` enclosing functions up, then a slot there.
struct SlotReference {
  int hops = 0;
  int slot = -1;
};

struct Expression;
using ExpressionPointer = std::unique_ptr<Expression>;

struct Expression {
  enum class Kind {
    kConstant,            ///< value
    kName,                ///< name, use, slot
    kNamespaceAttribute,  ///< name.attribute as a set target: name, attribute, slot
    kTuple,               ///< children
    kList,                ///< children
    kDict,                ///< children: key, value, key, value ...
    kNegate,              ///< children[0]
    kPlus,                ///< children[0]
    kNot,                 ///< children[0]
    kAnd,                 ///< children[0..1]
    kOr,                  ///< children[0..1]
    kBinary,              ///< children[0..1], operators[0]
    kCompare,             ///< children[0] operators[0] children[1] operators[1] ...
    kConcat,              ///< children joined as text (~)
    kAttribute,           ///< children[0].name
    kSubscript,           ///< children[0][children[1]]
    kSlice,               ///< children[0]:children[1]:children[2], each may be null
    kCall,                ///< children[0](arguments)
    kFilter,              ///< children[0] | name(arguments); children[0] null inside a filter block
    kTest,                ///< children[0] is name(arguments)
    kCondition,           ///< children[1] if children[0] else children[2] (may be null)
  };

  Kind kind;
  int line = 0;
  int depth = 1;  ///< Of the tree below.
  std::string name;
  std::string attribute;
  Value value;
  NameUse use = NameUse::kLoad;
  SlotReference slot;
  std::vector<ExpressionPointer> children;
  std::vector<Operator> operators;
  // Arguments of calls, filters and tests.
  std::vector<ExpressionPointer> arguments;
  std::vector<std::pair<std::string, ExpressionPointer>> keywords;
  ExpressionPointer star_arguments;
  ExpressionPointer star_keywords;
};

/// How one slot gets its value when its scope is entered.
struct SlotLoad {
  enum class Action { kParameter, kResolve, kAlias, kUnset };
  Action action = Action::kUnset;
  int slot = -1;
  std::string name;      ///< kResolve: the context variable.
  SlotReference source;  ///< kAlias: the outer variable.
};

struct Scope {
  std::vector<SlotLoad> loads;
};

struct Statement;
using StatementPointer = std::unique_ptr<Statement>;
using Body = std::vector<StatementPointer>;

struct Statement {
  enum class Kind {
    kData,      ///< text
    kPrint,     ///< expressions
    kFor,       ///< target in expression [if test] [recursive]: body, else_body
    kIf,        ///< test: body, elifs (kIf without their own), else_body
    kSet,       ///< target = expression
    kSetBlock,  ///< target = body [| expression, a filter chain with an open end]
    kWith,      ///< targets = expressions: body
    kMacro,     ///< text(parameters = defaults): body
    kCall,      ///< expression, a call that gets parameters/defaults/body as its caller
    kFilter,    ///< body | expression
    kScope,     ///< body in a scope of its own ({% generation %}, {% autoescape false %})
    kBlock,     ///< named block, run in place: text, body
    kBreak,
    kContinue,
  };

  Kind kind;
  int line = 0;
  std::string text;
  ExpressionPointer target;
  ExpressionPointer expression;
  ExpressionPointer test;
  std::vector<ExpressionPointer> targets;
  std::vector<ExpressionPointer> expressions;
  std::vector<ExpressionPointer> parameters;
  std::vector<ExpressionPointer> defaults;  ///< Of the last parameters.
  Body body;
  Body elifs;
  Body else_body;
  bool recursive = false;

  // Filled by name resolution.
  bool exports = false;  ///< A top-level set or macro, visible to blocks.
  bool uses_loop = false;
  bool uses_caller = false;
  bool uses_kwargs = false;
  bool uses_varargs = false;
  int slot_count = 0;  ///< Of the function this statement starts (macro, caller, recursive loop, block).
  int loop_slot = -1;
  int caller_slot = -1;
  int kwargs_slot = -1;
  int varargs_slot = -1;
  SlotReference slot;  ///< Where a macro's name is stored.
  Scope scope, test_scope, else_scope;
  ExpressionPointer test_target;  ///< The loop's target again, for the filter's own scope.
};

struct SyntaxTree {
  Body body;
  Scope scope;
  int slot_count = 0;
};

}  // namespace lanner::text::jinja
