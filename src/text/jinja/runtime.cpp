// SPDX-License-Identifier: MIT
#include "text/jinja/runtime.h"

#include <fmt/format.h>

#include "text/jinja/fault.h"
#include "text/jinja/value_text.h"

namespace lanner::text::jinja {
namespace {

const char* stack_position() { return static_cast<const char*>(__builtin_frame_address(0)); }

}  // namespace

Runtime::Runtime(const Limits& limits) : limits_(limits), stack_base_(stack_position()) {}

Runtime::~Runtime() {
  for (const auto& clean_up : clean_ups_) clean_up();
}

void Runtime::throw_exhausted() const {
  throw Fault(FaultKind::kLimit, fmt::format("rendering takes more than {} steps", limits_.max_steps));
}

void Runtime::throw_too_large() const {
  throw Fault(FaultKind::kLimit, fmt::format("text grows beyond {} bytes", limits_.max_text_bytes));
}

void Runtime::check_stack() const {
  const std::ptrdiff_t used = stack_base_ - stack_position();
  if (used > 0 && static_cast<size_t>(used) > limits_.max_stack_bytes)
    throw Fault(FaultKind::kLimit, "expressions and calls nest too deeply");
}

void Runtime::admit_text(size_t bytes) {
  check_output(bytes);
  spend(1 + bytes / 32);
}

std::string Runtime::text(const Value& value) {
  spend_walk(value);
  return text_of(value, limits_.max_text_bytes);
}

std::string Runtime::repr(const Value& value) {
  spend_walk(value);
  return repr_of(value, limits_.max_text_bytes);
}

Value Runtime::make_text(std::string bytes) {
  admit_text(bytes.size());
  return Value::text(std::move(bytes));
}

bool Runtime::equal(const Value& a, const Value& b) {
  if (a.kind() == b.kind()) spend(std::min(a.extent().weight, b.extent().weight));
  return equals(a, b);
}

Value call_value(Runtime& runtime, const Value& callee, const CallArguments& arguments) {
  if (callee.is(Kind::kObject)) return callee.as_object()->call(runtime, arguments);
  if (callee.is_undefined()) throw_undefined(callee);
  throw Fault(FaultKind::kType, "'" + callee.type_name() + "' object is not callable");
}

}  // namespace lanner::text::jinja
