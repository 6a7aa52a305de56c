// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

namespace lanner::text::jinja {

/// The `loop` variable: where a for loop is, with one element of look-ahead when asked for.
class LoopContext : public Object, public std::enable_shared_from_this<LoopContext> {
 public:
  /// Renders the loop over another iterable, one level deeper; empty for loops without "recursive".
  using Recurse = std::function<Value(const Value& iterable, int depth)>;

  LoopContext(Runtime& runtime, const Value& iterable, std::unique_ptr<Iterator> iterator,
              std::optional<size_t> length, int depth0, Recurse recurse);

  /// Moves to the next element.
  bool next(Value& out);
  /// Lets go of the elements, which may refer back to the loop.
  void release();

  std::string type_name() const override { return "LoopContext"; }
  std::string description() const override { return "jinja2.runtime.LoopContext object"; }
  std::string repr() const override;
  std::optional<size_t> length() override { return total(); }
  Value attribute(std::string_view name) override;
  bool callable() const override { return true; }
  Value call(Runtime& runtime, const CallArguments& arguments) override;
  std::uint32_t depth() const override { return depth_of_values_; }

 private:
  const Value& peek();
  size_t total();
  Value position_attribute(std::string_view name);
  Value method(std::string_view name);
  Value changed(const CallArguments& arguments);

  Runtime& runtime_;
  std::unique_ptr<Iterator> iterator_;
  std::optional<size_t> length_;
  int depth0_;
  Recurse recurse_;
  std::uint32_t depth_of_values_;
  long long index0_ = -1;
  bool peeked_ = false;
  Value after_;  ///< Missing: nothing peeked, or nothing left.
  Value current_;
  Value before_;
  Value last_changed_;
};

}  // namespace lanner::text::jinja
