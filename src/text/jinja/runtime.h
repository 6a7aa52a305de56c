// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/value.h"

namespace lanner::text::jinja {

/// What one render may use up. Templates and conversations are foreign bytes.
struct Limits {
  size_t max_text_bytes = size_t{64} << 20;  ///< Of the output and of any one string.
  std::uint64_t max_steps =
      200'000'000;            ///< Evaluated nodes, iterated elements, copied text (32 bytes each).
  int max_macro_depth = 200;  ///< Nested macro calls and recursive loops.
  size_t max_stack_bytes = size_t{3} << 20;  ///< Of the calling thread's stack.
};

/// State of one render that operations on values need: its budget, and objects whose contents may form
/// cycles.
class Runtime {
 public:
  explicit Runtime(const Limits& limits);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  const Limits& limits() const { return limits_; }

  /// Faults once the budget is used up.
  void spend(std::uint64_t steps) {
    steps_ += steps;
    if (steps_ > limits_.max_steps) throw_exhausted();
  }
  /// Charges one walk over the whole of `value`.
  void spend_walk(const Value& value) { spend(value.extent().weight); }
  /// Faults when the render has used its share of the stack.
  void check_stack() const;
  /// Faults when text of this size is over the limit.
  void check_output(size_t bytes) const {
    if (bytes > limits_.max_text_bytes) throw_too_large();
  }
  /// Faults when text of this size is over the limit; charges for copying it.

  void admit_text(size_t bytes);

  std::string text(const Value& value);  ///< str(value), charged.
  std::string repr(const Value& value);  ///< repr(value), charged.
  Value make_text(std::string bytes);    ///< A str of checked size.
  bool equal(const Value& a, const Value& b);

  /// Registers a clean-up that breaks reference cycles when the render ends.
  void on_finish(std::function<void()> clean_up) { clean_ups_.push_back(std::move(clean_up)); }

  int macro_depth = 0;

 private:
  [[noreturn]] void throw_exhausted() const;
  [[noreturn]] void throw_too_large() const;

  const Limits limits_;
  std::uint64_t steps_ = 0;
  const char* stack_base_;
  std::vector<std::function<void()>> clean_ups_;
};

/// Calls any value; faults when it is not callable.
Value call_value(Runtime& runtime, const Value& callee, const CallArguments& arguments);

/// Native function as a value (globals and bound methods).
class Function : public Object {
 public:
  using Body = std::function<Value(Runtime&, const CallArguments&)>;

  Function(std::string name, Body body, std::uint32_t depth = 0)
      : name_(std::move(name)), body_(std::move(body)), depth_(depth) {}
  std::string type_name() const override { return "builtin_function_or_method"; }
  std::string repr() const override { return "<built-in function " + name_ + ">"; }
  bool callable() const override { return true; }
  Value call(Runtime& runtime, const CallArguments& arguments) override { return body_(runtime, arguments); }
  std::uint32_t depth() const override { return depth_; }

 private:
  std::string name_;
  Body body_;
  std::uint32_t depth_;
};

}  // namespace lanner::text::jinja
