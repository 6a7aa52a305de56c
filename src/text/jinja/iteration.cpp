// SPDX-License-Identifier: MIT
#include "text/jinja/iteration.h"

#include <algorithm>

#include "text/jinja/fault.h"
#include "text/jinja/number_text.h"
#include "text/jinja/unicode.h"
#include "text/jinja/value_text.h"

namespace lanner::text::jinja {
namespace {

enum class Direction { kForward, kBackward };

/// Yields element(0), element(1) ... or the same backwards.
class IndexIterator : public Iterator {
 public:
  IndexIterator(size_t count, Direction direction, std::function<Value(size_t)> element)
      : count_(count), direction_(direction), element_(std::move(element)) {}

  bool next(Value& out) override {
    if (at_ == count_) return false;
    out = element_(direction_ == Direction::kForward ? at_ : count_ - 1 - at_);
    ++at_;
    return true;
  }

 private:
  size_t count_, at_ = 0;
  Direction direction_;
  std::function<Value(size_t)> element_;
};

class ItemIterator : public Iterator {
 public:
  explicit ItemIterator(Value sequence) : sequence_(std::move(sequence)) {}
  bool next(Value& out) override {
    const auto& items = sequence_.items();
    if (at_ == items.size()) return false;
    out = items[at_++];
    return true;
  }

 private:
  Value sequence_;
  size_t at_ = 0;
};

class CharacterIterator : public Iterator {
 public:
  explicit CharacterIterator(Value text) : text_(std::move(text)) {}
  bool next(Value& out) override {
    const std::string_view bytes = text_.as_text();
    if (position_ == bytes.size()) return false;
    const size_t start = position_;
    next_code_point(bytes, position_);
    out = text_.subtext(start, position_);

    return true;
  }

 private:
  Value text_;
  size_t position_ = 0;
};

class EmptyIterator : public Iterator {
 public:
  bool next(Value&) override { return false; }
};

class StepIterator : public Iterator {
 public:
  explicit StepIterator(std::shared_ptr<Generator::Step> step) : step_(std::move(step)) {}
  bool next(Value& out) override { return (*step_)(out); }

 private:
  std::shared_ptr<Generator::Step> step_;
};

/// A view prints whole however large; the text it lands in is checked by the caller.
constexpr size_t kMaxViewBytes = size_t{64} << 20;

size_t range_count(Int start, Int stop, Int step) {
  if (step > 0) return start < stop ? static_cast<size_t>((stop - start - 1) / step + 1) : 0;
  return start > stop ? static_cast<size_t>((start - stop - 1) / -step + 1) : 0;
}

}  // namespace

std::unique_ptr<Iterator> iterate(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      if (value.as_undefined().forbidden) throw_undefined(value);
      return std::make_unique<EmptyIterator>();
    case Kind::kText:
      return std::make_unique<CharacterIterator>(value);
    case Kind::kList:
    case Kind::kTuple:
      return std::make_unique<ItemIterator>(value);
    case Kind::kDict:
      return DictView(value, DictPart::kKeys).iterate();
    case Kind::kObject:
      if (auto iterator = value.as_object()->iterate()) return iterator;
      break;
    default:
      break;
  }
  throw Fault(FaultKind::kType, "'" + value.type_name() + "' object is not iterable");
}

std::unique_ptr<Iterator> iterate_reversed(const Value& value) {
  if (value.is_list_or_tuple())
    return std::make_unique<IndexIterator>(value.items().size(), Direction::kBackward,
                                           [value](size_t i) { return value.items()[i]; });
  if (value.is(Kind::kDict)) return DictView(value, DictPart::kKeys).iterate_reversed();
  if (value.is(Kind::kObject)) return value.as_object()->iterate_reversed();
  return nullptr;
}

bool is_iterable(const Value& value) {
  if (value.is(Kind::kObject)) return value.as_object()->iterate() != nullptr;
  return value.is_undefined() || value.is_text() || value.is_list_or_tuple() || value.is(Kind::kDict);
}

std::vector<Value> collect(Runtime& runtime, const Value& value) {
  if (value.is_list_or_tuple()) {
    runtime.spend(value.items().size());
    return value.items();
  }
  std::vector<Value> items;
  const auto iterator = iterate(value);
  for (Value item; iterator->next(item);) {
    runtime.spend(2);
    items.push_back(std::move(item));
  }
  return items;
}

std::optional<size_t> length_of(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return 0;
    case Kind::kText:
      return code_point_count(value.as_text());
    case Kind::kList:
    case Kind::kTuple:
      return value.items().size();
    case Kind::kDict:
      return value.as_dict().size();
    case Kind::kObject:
      return value.as_object()->length();
    default:
      return std::nullopt;
  }
}

bool contains(Runtime& runtime, const Value& haystack, const Value& needle) {
  if (haystack.is_text()) {
    if (!needle.is_text())
      throw Fault(FaultKind::kType,
                  "'in <string>' requires string as left operand, not " + needle.type_name());
    runtime.spend_walk(haystack);
    return haystack.as_text().find(needle.as_text()) != std::string::npos;
  }
  if (haystack.is(Kind::kDict)) {
    runtime.spend_walk(needle);
    return haystack.as_dict().find(needle) != nullptr;
  }
  if (haystack.is_undefined() && haystack.as_undefined().forbidden) throw_undefined(haystack);
  if (!is_iterable(haystack))
    throw Fault(FaultKind::kType, "argument of type '" + haystack.type_name() + "' is not iterable");
  const auto iterator = iterate(haystack);
  for (Value item; iterator->next(item);) {
    runtime.spend(1);
    if (item.identical(needle) || runtime.equal(item, needle)) return true;
  }
  return false;
}

Range::Range(Int start, Int stop, Int step)
    : start_(start), stop_(stop), step_(step), count_(range_count(start, stop, step)) {}

std::string Range::repr() const {
  std::string out = "range(" + int_text(start_) + ", " + int_text(stop_);
  if (step_ != 1) out += ", " + int_text(step_);
  return out + ")";
}

std::unique_ptr<Iterator> Range::iterate() {
  return std::make_unique<IndexIterator>(count_, Direction::kForward,
                                         [copy = *this](size_t i) { return Value::integer(copy.at(i)); });
}

std::unique_ptr<Iterator> Range::iterate_reversed() {
  return std::make_unique<IndexIterator>(count_, Direction::kBackward,
                                         [copy = *this](size_t i) { return Value::integer(copy.at(i)); });
}

Value Range::item(const Value& key) {
  if (!key.is_integral()) return Value();
  const Int count = static_cast<Int>(count_);
  const Int index = key.as_int() < 0 ? key.as_int() + count : key.as_int();
  return index < 0 || index >= count ? Value() : Value::integer(at(static_cast<size_t>(index)));
}

std::string DictView::type_name() const {
  return part_ == DictPart::kKeys ? "dict_keys" : part_ == DictPart::kValues ? "dict_values" : "dict_items";
}

Value DictView::element(size_t index) const {
  const Dict::Entry& entry = dict_.as_dict().entries()[index];
  if (part_ == DictPart::kKeys) return entry.first;
  if (part_ == DictPart::kValues) return entry.second;
  return Value::tuple({entry.first, entry.second});
}

std::string DictView::repr() const {
  std::vector<Value> items;
  for (size_t i = 0; i < dict_.as_dict().size(); ++i) items.push_back(element(i));
  return type_name() + "(" + repr_of(Value::list(std::move(items)), kMaxViewBytes) + ")";
}

std::unique_ptr<Iterator> DictView::iterate() {
  return std::make_unique<IndexIterator>(dict_.as_dict().size(), Direction::kForward,
                                         [view = *this](size_t i) { return view.element(i); });
}

std::unique_ptr<Iterator> DictView::iterate_reversed() {
  return std::make_unique<IndexIterator>(dict_.as_dict().size(), Direction::kBackward,
                                         [view = *this](size_t i) { return view.element(i); });
}

Generator::Generator(std::string type_name, Step step, const Value& source)
    : type_name_(std::move(type_name)),
      step_(std::make_shared<Step>(std::move(step))),
      depth_(source.extent().depth + 1),
      literal_(source.has_literal()) {
  if (depth_ > kMaxValueDepth) throw Fault(FaultKind::kLimit, "filters nest too deeply");
}

std::unique_ptr<Iterator> Generator::iterate() { return std::make_unique<StepIterator>(step_); }

Value make_generator(const Value& source, Generator::Step step, std::string type_name) {
  return Value::object(std::make_shared<Generator>(std::move(type_name), std::move(step), source));
}

}  // namespace lanner::text::jinja
