// SPDX-License-Identifier: MIT
#include "text/jinja/arguments.h"

#include <algorithm>
#include <limits>

#include "text/jinja/fault.h"
#include "text/jinja/value_text.h"

namespace lanner::text::jinja {

BoundArguments::BoundArguments(std::string_view function, const CallArguments& arguments,
                               std::initializer_list<std::string_view> names, size_t required)
    : function_(function), values_(names.size()) {
  const auto* keyword_only =
      std::find_if(names.begin(), names.end(), [](std::string_view n) { return n[0] == '*'; });
  const auto positional = static_cast<size_t>(keyword_only - names.begin());
  if (arguments.positional.size() > positional)
    throw Fault(FaultKind::kType, function_ + "() takes at most " + std::to_string(positional) +
                                      " arguments (" + std::to_string(arguments.positional.size()) +
                                      " given)");
  std::copy(arguments.positional.begin(), arguments.positional.end(), values_.begin());
  for (const auto& [name, value] : arguments.keyword) {
    const auto* at =
        std::find_if(names.begin(), names.end(), [&, key = std::string_view(name)](std::string_view n) {
          return n == key || (n[0] == '*' && n.substr(1) == key);
        });
    if (at == names.end())
      throw Fault(FaultKind::kType, function_ + "() got an unexpected keyword argument '" + name + "'");
    Value& slot = values_[static_cast<size_t>(at - names.begin())];
    if (!slot.is_missing())
      throw Fault(FaultKind::kType, function_ + "() got multiple values for argument '" + name + "'");
    slot = value;
  }
  for (size_t i = 0; i < required; ++i)
    if (values_[i].is_missing())
      throw Fault(FaultKind::kType,
                  function_ + "() missing required argument: '" + std::string(names.begin()[i]) + "'");
}

Int BoundArguments::integer(size_t index, Int fallback) const {
  if (!has(index)) return fallback;
  const Value& value = values_[index];
  if (value.is_undefined()) throw_undefined(value);
  if (!value.is_integral())
    throw Fault(FaultKind::kType,
                function_ + "(): '" + value.type_name() + "' object cannot be interpreted as an integer");
  return value.as_int();
}

long long BoundArguments::small_integer(size_t index, long long fallback) const {
  constexpr Int kLimit = std::numeric_limits<long long>::max();
  return static_cast<long long>(std::clamp<Int>(integer(index, fallback), -kLimit, kLimit));
}

const std::string& BoundArguments::text(size_t index) const {
  const Value& value = values_[index];
  if (value.is_undefined()) throw_undefined(value);
  if (!value.is_text())
    throw Fault(FaultKind::kType, function_ + "() argument must be str, not " + value.type_name());
  return value.as_text();
}

}  // namespace lanner::text::jinja
