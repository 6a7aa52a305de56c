// SPDX-License-Identifier: MIT
#include "text/jinja/template.h"

#include "core/error.h"
#include "text/jinja/ast.h"
#include "text/jinja/builtins.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/fault.h"
#include "text/jinja/parser.h"
#include "text/jinja/resolver.h"
#include "text/jinja/text_builder.h"

namespace lanner::text::jinja {
namespace {

ErrorKind error_kind(FaultKind kind) {
  return kind == FaultKind::kUnsupported ? ErrorKind::kUnsupported : ErrorKind::kInvalidArgument;
}

// Messages are one line whatever the template put into them.
std::string single_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return text;
}

}  // namespace

Template::Template(std::string_view source, std::string name) : name_(std::move(name)) {
  auto tree = std::make_unique<SyntaxTree>();
  try {
    *tree = Parser(source).parse();
    Resolver().resolve(*tree);
  } catch (const SyntaxFault& fault) {
    throw Error(ErrorKind::kCorrupt,
                name_ + " line " + std::to_string(fault.line()) + ": " + single_line(fault.what()));
  } catch (const Fault& fault) {
    throw Error(error_kind(fault.kind()), name_ + " " + single_line(fault.what()));
  }
  tree_ = std::move(tree);
}

Template::~Template() = default;
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;

Rendering Template::render(const RenderInput& input, const Limits& limits) const {
  Evaluator::Variables values;
  for (auto& [name, value] : builtin_globals(input.now == 0 ? std::time(nullptr) : input.now))
    values[name] = std::move(value);
  try {
    for (const auto& [name, value] : input.variables.items())
      values[name] = Value::from_json(value, Value::Origin::kTemplate);
    for (const auto& [name, value] : input.user_variables.items())
      values[name] = Value::from_json(value, Value::Origin::kUser);
  } catch (const Fault& fault) {
    throw Error(error_kind(fault.kind()), name_ + ": " + fault.what());
  }
  Evaluator evaluator(*tree_, std::move(values), limits);
  try {
    TextBuilder out = evaluator.run();
    LiteralSpans literal = out.take_literal();
    return {out.take_bytes(), std::move(literal)};
  } catch (const Fault& fault) {
    throw Error(error_kind(fault.kind()),
                name_ + " line " + std::to_string(evaluator.line()) + ": " + single_line(fault.what()));
  }
}

}  // namespace lanner::text::jinja
