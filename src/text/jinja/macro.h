// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "text/jinja/evaluator.h"

namespace lanner::text::jinja {

/// A macro, or the body of a call block, with the variables it closes over.
class Macro : public Object {
 public:
  Macro(Evaluator& evaluator, const Statement& definition, ActivationPointer closure)
      : evaluator_(evaluator), definition_(definition), closure_(std::move(closure)) {}

  std::string type_name() const override { return "Macro"; }
  std::string description() const override { return "jinja2.runtime.Macro object"; }
  std::string repr() const override;
  bool callable() const override { return true; }
  Value attribute(std::string_view name) override;
  Value call(Runtime&, const CallArguments& arguments) override {
    return evaluator_.call_macro(definition_, closure_, arguments);
  }

 private:
  Evaluator& evaluator_;
  const Statement& definition_;
  ActivationPointer closure_;
};

}  // namespace lanner::text::jinja
