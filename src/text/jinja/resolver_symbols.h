// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <vector>

#include "text/jinja/resolver.h"

/// Parts of Resolver that only its own source files need.
namespace lanner::text::jinja {

/// The names one scope knows. The branches of an if are layers above it that share its slots.
class Resolver::Symbols {
 public:
  Symbols(const Symbols* parent, Function* function)
      : parent_(parent), function_(function), slots_(std::make_shared<std::map<std::string, int>>()) {}

  /// A layer for one branch; this must outlive it and not change meanwhile.
  Symbols branch() const;

  void load(const std::string& name);
  void store(const std::string& name);
  int declare_parameter(const std::string& name);
  void merge_branches(const std::vector<Symbols>& branches);
  std::optional<Reference> find(const std::string& name) const;
  Scope scope() const;
  Function* function() const { return function_; }

 private:
  int define(const std::string& name, SlotLoad load);
  bool refers_to(const std::string& name) const;  ///< In this scope, not further out.
  bool stores(const std::string& name) const;
  SlotReference relative(const Reference& reference) const {
    return {function_->depth - reference.function->depth, reference.slot};
  }
  SlotLoad outer_load(const std::string& name, SlotLoad::Action otherwise) const;

  const Symbols* parent_;
  const Symbols* base_ = nullptr;  ///< What this is a branch of.
  Function* function_;
  std::shared_ptr<std::map<std::string, int>> slots_;
  std::map<std::string, int> references_;
  std::map<int, SlotLoad> loads_;
  std::set<std::string> stores_;
};

/// Collects what a run of statements reads and writes in its own scope, without entering inner scopes.
class Resolver::SymbolVisitor {
 public:
  explicit SymbolVisitor(Symbols& symbols) : symbols_(&symbols) {}

  void visit(const Body& body);
  void visit(const Statement& statement);
  void visit(const Expression* node);
  /// A loop's or with's target, whose names are parameters of the scope.
  void visit_parameters(const Expression& target);

 private:
  void visit_if(const Statement& statement);
  Symbols visit_branch(const Body& body);

  Symbols* symbols_;
};

struct Resolver::Frame {
  Symbols symbols;
  bool top_level = false;
  /// Inside an if, where unknown filters and tests are only an error when reached.
  bool soft = false;
};

/// Which of `names` the body reads before it stores them.
std::set<std::string> find_undeclared(const Body& body, std::set<std::string> names);
/// The first name node in the statement that stores to `name`, or nullptr.
const Expression* find_store(const Statement& statement, std::string_view name);

}  // namespace lanner::text::jinja
