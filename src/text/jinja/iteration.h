// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

namespace lanner::text::jinja {

/// iter(value): faults when not iterable; undefined iterates over nothing.
std::unique_ptr<Iterator> iterate(const Value& value);
/// reversed(value) for lists, tuples, dicts, views, ranges; nullptr otherwise.
std::unique_ptr<Iterator> iterate_reversed(const Value& value);
bool is_iterable(const Value& value);
/// list(value), charged one step per element.
std::vector<Value> collect(Runtime& runtime, const Value& value);
/// len(value); nullopt when it has none.
std::optional<size_t> length_of(const Value& value);
/// `needle in haystack`, charged.
bool contains(Runtime& runtime, const Value& haystack, const Value& needle);

/// Python's range.
class Range : public Object {
 public:
  Range(Int start, Int stop, Int step);
  std::string type_name() const override { return "range"; }
  std::string repr() const override;
  bool truthy() const override { return count_ != 0; }
  std::optional<size_t> length() override { return count_; }
  std::unique_ptr<Iterator> iterate() override;
  std::unique_ptr<Iterator> iterate_reversed() override;
  Value item(const Value& key) override;
  bool indexable() const override { return true; }
  Int at(size_t index) const { return start_ + static_cast<Int>(index) * step_; }

 private:
  Int start_, stop_, step_;
  size_t count_;
};

enum class DictPart { kKeys, kValues, kItems };

/// dict.keys(), values(), items().
class DictView : public Object {
 public:
  DictView(Value dict, DictPart part) : dict_(std::move(dict)), part_(part) {}
  std::string type_name() const override;
  std::string repr() const override;
  bool truthy() const override { return dict_.as_dict().size() != 0; }
  std::optional<size_t> length() override { return dict_.as_dict().size(); }
  std::unique_ptr<Iterator> iterate() override;
  std::unique_ptr<Iterator> iterate_reversed() override;
  std::uint32_t depth() const override { return dict_.extent().depth + 1; }
  bool literal() const override { return dict_.has_literal(); }

  Value element(size_t index) const;

 private:
  Value dict_;
  DictPart part_;
};

/// A one-shot iterator as a value: what filters such as map and select return.
class Generator : public Object {
 public:
  using Step = std::function<bool(Value&)>;

  /// `step` yields the next value, taken from `source`, or returns false.

  Generator(std::string type_name, Step step, const Value& source);
  std::string type_name() const override { return type_name_; }
  std::unique_ptr<Iterator> iterate() override;
  std::uint32_t depth() const override { return depth_; }
  bool literal() const override { return literal_; }

 private:
  std::string type_name_;
  std::shared_ptr<Step> step_;
  std::uint32_t depth_;
  bool literal_;
};

Value make_generator(const Value& source, Generator::Step step, std::string type_name = "generator");

}  // namespace lanner::text::jinja
