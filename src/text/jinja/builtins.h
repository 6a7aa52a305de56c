// SPDX-License-Identifier: MIT
#pragma once

#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

namespace lanner::text::jinja {

/// namespace(...): the one value whose attributes templates may set.
class Namespace : public Object {
 public:
  explicit Namespace(Dict attributes) : attributes_(std::move(attributes)) {}
  std::string type_name() const override { return "Namespace"; }
  std::string description() const override { return "jinja2.utils.Namespace object"; }
  std::string repr() const override;
  Value attribute(std::string_view name) override;
  void set(std::string_view name, Value value) { attributes_.set(Value::text(name), std::move(value)); }
  void clear() { attributes_ = Dict(); }

 private:
  Dict attributes_;
};

/// The functions every template can call: range, dict, namespace, cycler, joiner, raise_exception and
/// strftime_now (which formats `now`, local time).
std::vector<std::pair<std::string, Value>> builtin_globals(std::time_t now);

}  // namespace lanner::text::jinja
