// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>

#include "text/jinja/arguments.h"
#include "text/jinja/fault.h"
#include "text/jinja/iteration.h"
#include "text/jinja/methods.h"
#include "text/jinja/value_text.h"

namespace lanner::text::jinja {
namespace {

using Arguments = const CallArguments&;

template <DictPart kPart>
Value view(Runtime&, const Value& self, Arguments arguments) {
  const BoundArguments bound("dict view", arguments, {}, 0);
  return Value::object(std::make_shared<DictView>(self, kPart));
}

Value dict_get(Runtime& runtime, const Value& self, Arguments arguments) {
  const BoundArguments bound("get", arguments, {"key", "default"}, 1);
  runtime.spend_walk(bound[0]);
  const Value* found = self.as_dict().find(bound[0]);
  return found ? *found : bound.get(1, Value::none());
}

Value copy(Runtime& runtime, const Value& self, Arguments arguments) {
  const BoundArguments bound("copy", arguments, {}, 0);
  if (self.is(Kind::kDict)) {
    runtime.spend(self.as_dict().size());
    return Value::dict(self.as_dict());
  }
  runtime.spend(self.items().size());
  return Value::list(self.items());
}

Value count(Runtime& runtime, const Value& self, Arguments arguments) {
  const BoundArguments bound("count", arguments, {"value"}, 1);
  Int found = 0;
  for (const Value& item : self.items()) {
    runtime.spend(1);
    if (runtime.equal(item, bound[0])) ++found;
  }
  return Value::integer(found);
}

Value index(Runtime& runtime, const Value& self, Arguments arguments) {
  const BoundArguments bound("index", arguments, {"value", "start", "stop"}, 1);
  const auto& items = self.items();
  const long long size = static_cast<long long>(items.size());
  const auto edge = [&](size_t argument, long long fallback) {
    const long long at = bound.small_integer(argument, fallback);
    return std::clamp(at < 0 ? at + size : at, 0LL, size);
  };
  const long long stop = edge(2, size);
  for (long long i = edge(1, 0); i < stop; ++i) {
    runtime.spend(1);
    if (runtime.equal(items[static_cast<size_t>(i)], bound[0])) return Value::integer(i);
  }
  throw Fault(FaultKind::kValue, runtime.repr(bound[0]) + " is not in " + self.type_name());
}

constexpr std::string_view kListMutators[] = {"append", "reverse", "insert", "sort",
                                              "extend", "remove",  "pop",    "clear"};
constexpr std::string_view kDictMutators[] = {"clear", "pop", "popitem", "setdefault", "update"};

}  // namespace

bool is_mutating_method(const Value& self, std::string_view name) {
  if (self.is(Kind::kList))
    return std::find(std::begin(kListMutators), std::end(kListMutators), name) != std::end(kListMutators);
  if (self.is(Kind::kDict))
    return std::find(std::begin(kDictMutators), std::end(kDictMutators), name) != std::end(kDictMutators);
  return false;
}

Method find_container_method(Kind kind, std::string_view name) {
  if (kind == Kind::kDict) {
    if (name == "get") return dict_get;
    if (name == "items") return view<DictPart::kItems>;
    if (name == "keys") return view<DictPart::kKeys>;
    if (name == "values") return view<DictPart::kValues>;
    return name == "copy" ? copy : nullptr;
  }
  if (name == "count") return count;
  if (name == "index") return index;
  return kind == Kind::kList && name == "copy" ? copy : nullptr;
}

Method find_method(const Value& self, std::string_view name) {
  if (self.is_text()) return find_text_method(name);
  if (self.is_list_or_tuple() || self.is(Kind::kDict)) return find_container_method(self.kind(), name);
  return nullptr;
}

Value keep_literal(Value result, const Value& subject, const CallArguments& arguments) {
  if (!result.is_text() || result.has_literal()) return result;
  const auto literal = [](const Value& value) { return value.has_literal(); };
  const bool mixed = literal(subject) ||
                     std::any_of(arguments.positional.begin(), arguments.positional.end(), literal) ||
                     std::any_of(arguments.keyword.begin(), arguments.keyword.end(),
                                 [&](const auto& keyword) { return literal(keyword.second); });
  return mixed ? result.as_literal() : result;
}

Value call_method(Runtime& runtime, Method method, const Value& self, const CallArguments& arguments) {
  return keep_literal(method(runtime, self, arguments), self, arguments);
}

Value bind_method(const Value& self, std::string_view name, Method method) {
  auto body = [self, method](Runtime& runtime, Arguments arguments) {
    return call_method(runtime, method, self, arguments);
  };

  return Value::object(std::make_shared<Function>(std::string(name), body, self.extent().depth + 1));
}

}  // namespace lanner::text::jinja
