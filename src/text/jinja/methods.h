// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

namespace lanner::text::jinja {

/// A method of str, list, tuple or dict.
using Method = Value (*)(Runtime& runtime, const Value& self, const CallArguments& arguments);

/// nullptr when values of this type have no such method (or the sandbox forbids it).
Method find_method(const Value& self, std::string_view name);
/// list.append and the like, which Jinja's immutable sandbox hides.
bool is_mutating_method(const Value& self, std::string_view name);
/// The method as a value, as {{ text.upper }} gives it.
Value bind_method(const Value& self, std::string_view name, Method method);

/// Calls it. Text made from literal text by a method that does not say which part is literal is literal
/// throughout.
Value call_method(Runtime& runtime, Method method, const Value& self, const CallArguments& arguments);
/// The rule of call_method() for any result.
Value keep_literal(Value result, const Value& subject, const CallArguments& arguments);

/// Per type, in methods_text.cpp and methods_container.cpp.
Method find_text_method(std::string_view name);
Method find_container_method(Kind kind, std::string_view name);

}  // namespace lanner::text::jinja
