// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/value.h"

namespace lanner::text::jinja {

/// Binds call arguments to parameter names the way Python does, with its TypeErrors.
class BoundArguments {
 public:
  /// `names` in positional order; the first `required` must be given. A name starting with '*' ends the
  /// parameters that may be given by position.
  BoundArguments(std::string_view function, const CallArguments& arguments,
                 std::initializer_list<std::string_view> names, size_t required);

  bool has(size_t index) const { return !values_[index].is_missing(); }
  const Value& operator[](size_t index) const { return values_[index]; }
  Value get(size_t index, const Value& fallback) const { return has(index) ? values_[index] : fallback; }
  bool truthy(size_t index, bool fallback) const { return has(index) ? values_[index].truthy() : fallback; }
  /// An int; faults on other types.
  Int integer(size_t index, Int fallback) const;
  /// Like integer(), limited to what fits a long long.
  long long small_integer(size_t index, long long fallback) const;
  /// A str; faults on other types.
  const std::string& text(size_t index) const;
  bool is_none_or_absent(size_t index) const { return !has(index) || values_[index].is_none(); }

 private:
  std::string function_;
  std::vector<Value> values_;
};

}  // namespace lanner::text::jinja
