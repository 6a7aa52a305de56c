// SPDX-License-Identifier: MIT
#include <algorithm>

#include "text/jinja/fault.h"
#include "text/jinja/iteration.h"
#include "text/jinja/methods.h"
#include "text/jinja/number_text.h"
#include "text/jinja/operators.h"
#include "text/jinja/unicode.h"
#include "text/jinja/value_text.h"

namespace lanner::text::jinja {
namespace {

std::string type_description(const Value& value) {
  if (value.is_none()) return "None";
  return value.is(Kind::kObject) ? value.as_object()->description() : value.type_name() + " object";
}

Value no_attribute(const Value& value, std::string_view name) {
  return Value::undefined(quoted_repr(type_description(value)) + " has no attribute " + quoted_repr(name));
}

Value no_item(Runtime& runtime, const Value& value, const Value& key) {
  if (key.is_text()) return no_attribute(value, key.as_text());
  return Value::undefined(type_description(value) + " has no element " + runtime.repr(key));
}

// The attribute Python finds on the value itself, or missing.
Value own_attribute(const Value& value, std::string_view name) {
  const bool dunder = name.size() > 4 && name.substr(0, 2) == "__" && name.substr(name.size() - 2) == "__";
  const bool mutates = is_mutating_method(value, name);
  if (dunder || mutates)
    return Value::forbidden("access to attribute " + quoted_repr(name) + " of " +
                            quoted_repr(value.type_name()) + " object is unsafe.");
  if (value.is(Kind::kObject)) return value.as_object()->attribute(name);
  if (const Method method = find_method(value, name)) return bind_method(value, name, method);
  return Value();
}

Value sequence_item(const Value& value, Int index) {
  const auto& items = value.items();
  if (index < 0) index += static_cast<Int>(items.size());
  return index < 0 || index >= static_cast<Int>(items.size()) ? Value() : items[static_cast<size_t>(index)];
}

Value character(Runtime& runtime, const Value& value, Int index) {
  const std::string& text = value.as_text();
  runtime.spend(text.size() / 32);
  const Int length = static_cast<Int>(code_point_count(text));
  if (index < 0) index += length;
  if (index < 0 || index >= length) return Value();
  const auto at = static_cast<size_t>(index);
  return value.subtext(code_point_range(text, at, at + 1));
}

// value[key] of Python, or missing where it raises TypeError or LookupError.
Value own_item(Runtime& runtime, const Value& value, const Value& key) {
  switch (value.kind()) {
    case Kind::kDict: {
      if (!is_hashable(key)) return Value();
      const Value* found =
          key.is_text() ? value.as_dict().find(std::string_view(key.as_text())) : value.as_dict().find(key);
      return found ? *found : Value();
    }
    case Kind::kList:
    case Kind::kTuple:
      return key.is_integral() ? sequence_item(value, key.as_int()) : Value();
    case Kind::kText:
      return key.is_integral() ? character(runtime, value, key.as_int()) : Value();
    case Kind::kObject:
      return value.as_object()->item(key);
    default:
      return Value();
  }
}

struct SliceBounds {
  Int start, stop, step;
};

Int clamp(Int index, Int length, Int low, Int high) {
  if (index < 0) index += length;
  return std::clamp(index, low, high);
}

std::optional<Int> slice_part(const Value& value) {
  if (value.is_none()) return std::nullopt;
  if (value.is_integral()) return value.as_int();
  throw Fault(FaultKind::kType, "slice indices must be integers or None or have an __index__ method");
}

SliceBounds slice_bounds(const Value& start, const Value& stop, const Value& step, Int length) {
  const Int stride = slice_part(step).value_or(1);
  if (stride == 0) throw Fault(FaultKind::kValue, "slice step cannot be zero");
  const Int low = stride > 0 ? 0 : -1, high = stride > 0 ? length : length - 1;
  const auto first = slice_part(start), last = slice_part(stop);
  return {first ? clamp(*first, length, low, high) : (stride > 0 ? low : high),
          last ? clamp(*last, length, low, high) : (stride > 0 ? high : low), stride};
}

template <typename Visit>
void for_each_index(const SliceBounds& bounds, Visit visit) {
  // The stride is clamped so that adding it cannot overflow.
  const Int step = std::clamp<Int>(bounds.step, -(Int{1} << 62), Int{1} << 62);
  for (Int i = bounds.start; step > 0 ? i < bounds.stop : i > bounds.stop; i += step)
    visit(static_cast<size_t>(i));
}

Value slice_text(Runtime& runtime, const Value& value, const Value& start, const Value& stop,
                 const Value& step) {
  const std::string& text = value.as_text();
  runtime.admit_text(text.size());
  const SliceBounds bounds = slice_bounds(start, stop, step, static_cast<Int>(code_point_count(text)));
  if (bounds.step == 1) {
    const std::string_view part =
        code_point_range(text, static_cast<size_t>(bounds.start), static_cast<size_t>(bounds.stop));
    return value.subtext(part);
  }
  const std::u32string characters = decode_utf8(text);
  std::u32string out;
  for_each_index(bounds, [&](size_t i) { out += characters[i]; });
  return keep_literal(Value::text_like(value, encode_utf8(out)), value, {});
}

}  // namespace

bool has_attribute(const Value& value, std::string_view name) {
  return !own_attribute(value, name).is_missing();
}

Value get_attribute(Runtime& runtime, const Value& value, std::string_view name) {
  if (value.is_undefined()) throw_undefined(value);
  if (Value found = own_attribute(value, name); !found.is_missing()) return found;
  if (value.is(Kind::kDict)) {
    const Value* found = value.as_dict().find(name);
    return found ? *found : no_attribute(value, name);
  }
  if (Value found = own_item(runtime, value, Value::text(name)); !found.is_missing()) return found;
  return no_attribute(value, name);
}

Value get_item(Runtime& runtime, const Value& value, const Value& key) {
  if (value.is_undefined()) throw_undefined(value);
  if (Value found = own_item(runtime, value, key); !found.is_missing()) return found;
  if (key.is_text())
    if (Value found = own_attribute(value, key.as_text()); !found.is_missing()) return found;
  return no_item(runtime, value, key);
}

Value get_slice(Runtime& runtime, const Value& value, const Value& start, const Value& stop,
                const Value& step) {
  if (value.is_undefined()) throw_undefined(value);
  if (value.is_text()) return slice_text(runtime, value, start, stop, step);
  if (value.is_list_or_tuple()) {
    std::vector<Value> items;
    const auto& all = value.items();
    for_each_index(slice_bounds(start, stop, step, static_cast<Int>(all.size())),
                   [&](size_t i) { items.push_back(all[i]); });
    runtime.spend(items.size());
    return value.is(Kind::kList) ? Value::list(std::move(items)) : Value::tuple(std::move(items));
  }
  if (value.is(Kind::kObject)) {
    if (auto* range = dynamic_cast<Range*>(value.as_object().get())) {
      const SliceBounds bounds = slice_bounds(start, stop, step, static_cast<Int>(*range->length()));
      const Int stride = range->at(1) - range->at(0), first = range->at(0);
      return Value::object(
          std::make_shared<Range>(first + bounds.start * stride, first + bounds.stop * stride,
                                  std::clamp<Int>(bounds.step, -(Int{1} << 32), Int{1} << 32) * stride));
    }
  }
  if (value.is(Kind::kDict)) throw Fault(FaultKind::kType, "unhashable type: 'slice'");
  throw Fault(FaultKind::kType, "'" + value.type_name() + "' object is not subscriptable");
}

}  // namespace lanner::text::jinja
