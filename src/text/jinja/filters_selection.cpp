// SPDX-License-Identifier: MIT
#include <memory>
#include <optional>

#include "text/jinja/fault.h"
#include "text/jinja/filters.h"
#include "text/jinja/iteration.h"
#include "text/jinja/value_text.h"

namespace lanner::text::jinja {
namespace {

using Arguments = const CallArguments&;
using Mapping = std::function<Value(const Value&)>;
using Predicate = std::function<bool(const Value&)>;

std::string name_argument(const Value& value) {
  return value.is_text() ? value.as_text() : value.type_name();
}

const Value* find_keyword(Arguments arguments, std::string_view name) {
  for (const auto& [key, value] : arguments.keyword)
    if (key == name) return &value;
  return nullptr;
}

Mapping attribute_mapping(Runtime& runtime, Arguments arguments) {
  for (const auto& [key, value] : arguments.keyword)
    if (key != "attribute" && key != "default")
      throw Fault(FaultKind::kType, "Unexpected keyword argument " + quoted_repr(key));
  const Value* fallback = find_keyword(arguments, "default");
  return [&runtime, path = AttributePath(runtime, *find_keyword(arguments, "attribute")),
          value = fallback ? *fallback : Value::none()](const Value& item) {
    return path.of(runtime, item, &value);
  };
}

Mapping filter_mapping(Runtime& runtime, Arguments arguments) {
  if (arguments.positional.empty()) throw Fault(FaultKind::kType, "map requires a filter argument");
  const Filter filter = require_filter(name_argument(arguments.positional[0]));
  CallArguments rest{{arguments.positional.begin() + 1, arguments.positional.end()}, arguments.keyword};
  return [&runtime, filter, rest = std::move(rest)](const Value& item) {
    return apply_filter(runtime, filter, item, rest);
  };
}

/// A generator over the elements of `value`. Nothing is looked at before the first element is asked for.
Value lazily(Runtime& runtime, const Value& value, std::function<bool(Iterator&, Value&)> step) {
  auto source = std::make_shared<std::unique_ptr<Iterator>>();
  return make_generator(value, [&runtime, value, source, step = std::move(step)](Value& out) {
    if (!*source && !value.truthy()) return false;
    if (!*source) *source = iterate(value);
    runtime.spend(1);
    runtime.check_stack();
    return step(**source, out);
  });
}

Value map(Runtime& runtime, const Value& value, Arguments arguments) {
  const auto mapping = std::make_shared<Mapping>();
  return lazily(runtime, value, [&runtime, mapping, arguments](Iterator& source, Value& out) {
    if (!*mapping)
      *mapping = arguments.positional.empty() && find_keyword(arguments, "attribute")
                     ? attribute_mapping(runtime, arguments)
                     : filter_mapping(runtime, arguments);
    Value item;
    if (!source.next(item)) return false;
    out = (*mapping)(item);
    return true;
  });
}

enum class Subject { kItem, kAttribute };
enum class Keep { kHolding, kFailing };

Predicate make_predicate(Runtime& runtime, Arguments arguments, Subject subject) {
  size_t used = 0;
  std::optional<AttributePath> path;
  if (subject == Subject::kAttribute) {
    if (arguments.positional.empty()) throw Fault(FaultKind::kType, "Missing parameter for attribute name");
    path.emplace(runtime, arguments.positional[used++]);
  }
  Test test = nullptr;
  if (used < arguments.positional.size()) test = require_test(name_argument(arguments.positional[used++]));
  CallArguments rest{
      {arguments.positional.begin() + static_cast<std::ptrdiff_t>(used), arguments.positional.end()},
      arguments.keyword};
  return [&runtime, path, test, rest = std::move(rest)](const Value& item) {
    const Value subject_value = path ? path->of(runtime, item) : item;
    return test ? test(runtime, subject_value, rest) : subject_value.truthy();
  };
}

template <Subject kSubject, Keep kKeep>
Value select(Runtime& runtime, const Value& value, Arguments arguments) {
  const auto predicate = std::make_shared<Predicate>();
  return lazily(runtime, value, [&runtime, predicate, arguments](Iterator& source, Value& out) {
    if (!*predicate) *predicate = make_predicate(runtime, arguments, kSubject);
    while (source.next(out)) {
      runtime.spend(1);
      if ((*predicate)(out) == (kKeep == Keep::kHolding)) return true;
    }
    return false;
  });
}

}  // namespace

Filter find_selection_filter(std::string_view name) {
  if (name == "map") return map;
  if (name == "select") return select<Subject::kItem, Keep::kHolding>;
  if (name == "reject") return select<Subject::kItem, Keep::kFailing>;
  if (name == "selectattr") return select<Subject::kAttribute, Keep::kHolding>;
  if (name == "rejectattr") return select<Subject::kAttribute, Keep::kFailing>;
  return nullptr;
}

}  // namespace lanner::text::jinja
