// SPDX-License-Identifier: MIT
#include "text/jinja/resolver_symbols.h"

#include <functional>

namespace lanner::text::jinja {
namespace {

using NameVisitor = std::function<void(const Expression&)>;

void walk(const Expression* node, const NameVisitor& visit) {
  if (!node) return;
  if (node->kind == Expression::Kind::kName) visit(*node);
  for (const auto& child : node->children) walk(child.get(), visit);
  for (const auto& argument : node->arguments) walk(argument.get(), visit);
  for (const auto& [name, value] : node->keywords) walk(value.get(), visit);
  walk(node->star_arguments.get(), visit);
  walk(node->star_keywords.get(), visit);
}

void walk(const std::vector<ExpressionPointer>& nodes, const NameVisitor& visit) {
  for (const auto& node : nodes) walk(node.get(), visit);
}

void walk(const Body& body, const NameVisitor& visit);

void walk(const Statement& statement, const NameVisitor& visit) {
  if (statement.kind == Statement::Kind::kBlock) return;
  walk(statement.target.get(), visit);
  walk(statement.targets, visit);
  walk(statement.parameters, visit);
  walk(statement.defaults, visit);
  const bool body_first = statement.kind == Statement::Kind::kFilter;
  if (body_first) walk(statement.body, visit);
  if (statement.kind == Statement::Kind::kIf) walk(statement.test.get(), visit);
  walk(statement.expression.get(), visit);
  walk(statement.expressions, visit);
  if (!body_first) walk(statement.body, visit);
  walk(statement.elifs, visit);
  walk(statement.else_body, visit);
  if (statement.kind == Statement::Kind::kFor) walk(statement.test.get(), visit);
}

void walk(const Body& body, const NameVisitor& visit) {
  for (const auto& statement : body) walk(*statement, visit);
}

}  // namespace

std::set<std::string> find_undeclared(const Body& body, std::set<std::string> names) {
  std::set<std::string> undeclared;
  walk(body, [&](const Expression& name) {
    if (name.use == NameUse::kLoad) {
      if (names.count(name.name)) undeclared.insert(name.name);
    } else {
      names.erase(name.name);
    }
  });
  return undeclared;
}

const Expression* find_store(const Statement& statement, std::string_view name) {
  const Expression* found = nullptr;
  walk(statement, [&](const Expression& node) {
    if (!found && node.use == NameUse::kStore && node.name == name) found = &node;
  });
  return found;
}

int Resolver::Symbols::define(const std::string& name, SlotLoad load) {
  auto [at, added] = slots_->try_emplace(name, function_->slots);
  if (added) ++function_->slots;
  references_[name] = at->second;
  load.slot = at->second;
  loads_[at->second] = std::move(load);
  return at->second;
}

std::optional<Resolver::Reference> Resolver::Symbols::find(const std::string& name) const {
  for (const Symbols* symbols = this; symbols; symbols = symbols->base_ ? symbols->base_ : symbols->parent_)
    if (const auto at = symbols->references_.find(name); at != symbols->references_.end())
      return Reference{symbols->function_, at->second};
  return std::nullopt;
}

Resolver::Symbols Resolver::Symbols::branch() const {
  Symbols layer(parent_, function_);
  layer.base_ = this;
  layer.slots_ = slots_;
  return layer;
}

bool Resolver::Symbols::refers_to(const std::string& name) const {
  for (const Symbols* symbols = this; symbols; symbols = symbols->base_)
    if (symbols->references_.count(name)) return true;
  return false;
}

bool Resolver::Symbols::stores(const std::string& name) const {
  for (const Symbols* symbols = this; symbols; symbols = symbols->base_)
    if (symbols->stores_.count(name)) return true;
  return false;
}

SlotLoad Resolver::Symbols::outer_load(const std::string& name, SlotLoad::Action otherwise) const {
  const auto outer = parent_ ? parent_->find(name) : std::nullopt;
  if (outer) return {SlotLoad::Action::kAlias, -1, {}, relative(*outer)};
  return {otherwise, -1, name, {}};
}

void Resolver::Symbols::load(const std::string& name) {
  if (!find(name)) define(name, {SlotLoad::Action::kResolve, -1, name, {}});
}

void Resolver::Symbols::store(const std::string& name) {
  stores_.insert(name);
  if (!refers_to(name)) define(name, outer_load(name, SlotLoad::Action::kUnset));
}

int Resolver::Symbols::declare_parameter(const std::string& name) {
  stores_.insert(name);
  return define(name, {SlotLoad::Action::kParameter, -1, {}, {}});
}

void Resolver::Symbols::merge_branches(const std::vector<Symbols>& branches) {
  std::map<std::string, size_t> changed;
  for (const Symbols& branch : branches)
    for (const std::string& name : branch.stores_)
      if (!stores(name)) ++changed[name];
  for (const Symbols& branch : branches) {
    for (const auto& [name, slot] : branch.references_) references_[name] = slot;
    for (const auto& [slot, load] : branch.loads_) loads_[slot] = load;
    stores_.insert(branch.stores_.begin(), branch.stores_.end());
  }
  // A name that some branch leaves alone must come from further out there.
  for (const auto& [name, count] : changed) {
    if (count == branches.size()) continue;
    SlotLoad load = outer_load(name, SlotLoad::Action::kResolve);
    load.slot = find(name)->slot;
    loads_[load.slot] = std::move(load);
  }
}

Scope Resolver::Symbols::scope() const {
  Scope scope;
  for (const auto& [slot, load] : loads_)
    if (load.action != SlotLoad::Action::kParameter) scope.loads.push_back(load);
  return scope;
}

void Resolver::SymbolVisitor::visit(const Body& body) {
  for (const auto& statement : body) visit(*statement);
}

void Resolver::SymbolVisitor::visit(const Statement& statement) {
  switch (statement.kind) {
    case Statement::Kind::kPrint:
    case Statement::Kind::kWith:
      for (const auto& node : statement.expressions) visit(node.get());
      break;
    case Statement::Kind::kFor:
    case Statement::Kind::kCall:
    case Statement::Kind::kFilter:
      visit(statement.expression.get());
      break;
    case Statement::Kind::kIf:
      visit_if(statement);
      break;
    case Statement::Kind::kSet:
      visit(statement.expression.get());
      visit(statement.target.get());
      break;
    case Statement::Kind::kSetBlock:
      visit(statement.target.get());
      break;
    case Statement::Kind::kMacro:
      symbols_->store(statement.text);
      break;
    default:
      break;
  }
}

void Resolver::SymbolVisitor::visit(const Expression* node) {
  if (!node) return;
  if (node->kind == Expression::Kind::kName) {
    node->use == NameUse::kLoad ? symbols_->load(node->name) : symbols_->store(node->name);
  } else if (node->kind == Expression::Kind::kNamespaceAttribute) {
    symbols_->load(node->name);
  }
  for (const auto& child : node->children) visit(child.get());
  for (const auto& argument : node->arguments) visit(argument.get());
  for (const auto& [name, value] : node->keywords) visit(value.get());
  visit(node->star_arguments.get());
  visit(node->star_keywords.get());
}

void Resolver::SymbolVisitor::visit_parameters(const Expression& target) {
  if (target.kind == Expression::Kind::kName) symbols_->declare_parameter(target.name);
  for (const auto& child : target.children) visit_parameters(*child);
}

Resolver::Symbols Resolver::SymbolVisitor::visit_branch(const Body& body) {
  Symbols branch = symbols_->branch();
  Symbols* outer = std::exchange(symbols_, &branch);
  visit(body);
  symbols_ = outer;
  return branch;
}

void Resolver::SymbolVisitor::visit_if(const Statement& statement) {
  visit(statement.test.get());
  std::vector<Symbols> branches;
  branches.push_back(visit_branch(statement.body));
  branches.push_back(visit_branch(statement.elifs));
  branches.push_back(visit_branch(statement.else_body));
  symbols_->merge_branches(branches);
}

}  // namespace lanner::text::jinja
