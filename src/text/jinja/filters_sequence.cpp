// SPDX-License-Identifier: MIT
#include <algorithm>
#include <memory>
#include <unordered_map>

#include "text/jinja/arguments.h"
#include "text/jinja/fault.h"
#include "text/jinja/filters.h"
#include "text/jinja/iteration.h"
#include "text/jinja/operators.h"
#include "text/jinja/text_builder.h"
#include "text/jinja/value_text.h"

namespace lanner::text::jinja {
namespace {

using Arguments = const CallArguments&;

Value first(Runtime&, const Value& value, Arguments arguments) {
  const BoundArguments bound("first", arguments, {}, 0);
  Value item;
  return iterate(value)->next(item) ? item : Value::undefined("No first item, sequence was empty.");
}

Value last(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("last", arguments, {}, 0);
  Value item;
  const auto iterator = iterate_reversed(value);
  if (value.is_text() && !value.as_text().empty()) return get_item(runtime, value, Value::integer(-1));
  if (!iterator && !value.is_text() && !value.is_undefined())
    throw Fault(FaultKind::kType, "'" + value.type_name() + "' object is not reversible");
  return iterator && iterator->next(item) ? item : Value::undefined("No last item, sequence was empty.");
}

Value length(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("length", arguments, {}, 0);
  if (value.is_text()) runtime.spend_walk(value);
  if (const auto size = length_of(value)) return Value::integer(static_cast<Int>(*size));
  throw Fault(FaultKind::kType, "object of type '" + value.type_name() + "' has no len()");
}

Value list(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("list", arguments, {}, 0);
  return Value::list(collect(runtime, value));
}

Value items(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("items", arguments, {}, 0);
  return make_generator(value, [&runtime, value, at = size_t{0}](Value& out) mutable {
    if (value.is_undefined()) return false;
    if (!value.is(Kind::kDict)) throw Fault(FaultKind::kType, "Can only get item pairs from a mapping.");
    runtime.spend(1);
    if (at == value.as_dict().size()) return false;
    const Dict::Entry& entry = value.as_dict().entries()[at++];
    out = Value::tuple({entry.first, entry.second});
    return true;
  });
}

Value as_text(Runtime& runtime, const Value& value) {
  if (value.is_text()) return value;
  const Value shown = Value::text(runtime.text(value));
  return value.has_literal() ? shown.as_literal() : shown;
}

Value join(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("join", arguments, {"d", "attribute"}, 0);
  const AttributePath path(runtime, bound.get(1, Value::none()));
  const Value separator = as_text(runtime, bound.get(0, Value::text("")));
  TextBuilder out;
  bool first_item = true;
  const auto iterator = iterate(value);
  for (Value item; iterator->next(item);) {
    if (!first_item) out.append(separator);
    first_item = false;
    const Value text = as_text(runtime, path.of(runtime, item));
    runtime.spend(1 + (text.as_text().size() + separator.as_text().size()) / 32);
    runtime.check_output(out.size() + text.as_text().size());
    out.append(text);
  }
  return out.take();
}

/// A generator whose elements are all computed when the first is asked for.
Value deferred(const Value& source, std::function<std::vector<Value>()> compute) {
  auto state = std::make_shared<std::pair<bool, std::vector<Value>>>();
  return make_generator(source, [state, compute = std::move(compute), at = size_t{0}](Value& out) mutable {
    if (!std::exchange(state->first, true)) state->second = compute();
    if (at == state->second.size()) return false;
    out = state->second[at++];
    return true;
  });
}

Value reverse(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("reverse", arguments, {}, 0);
  if (value.is_text()) return get_slice(runtime, value, Value::none(), Value::none(), Value::integer(-1));
  if (value.is_undefined()) return Value::list({});
  if (std::shared_ptr<Iterator> iterator = iterate_reversed(value))
    return make_generator(
        value,
        [&runtime, iterator](Value& out) {
          runtime.spend(1);
          return iterator->next(out);
        },
        value.type_name() + "_reverseiterator");
  if (!is_iterable(value)) throw Fault(FaultKind::kType, "argument must be iterable");
  std::vector<Value> reversed = collect(runtime, value);
  std::reverse(reversed.begin(), reversed.end());
  return Value::list(std::move(reversed));
}

Value batch(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("batch", arguments, {"linecount", "fill_with"}, 1);
  const long long count = bound.small_integer(0, 0);
  const Value fill = bound.get(1, Value::none());
  return deferred(value, [&runtime, value, count, fill] {
    std::vector<Value> rows, row;
    for (const Value& item : collect(runtime, value)) {
      if (static_cast<long long>(row.size()) == count) rows.push_back(Value::list(std::exchange(row, {})));
      row.push_back(item);
    }
    if (row.empty()) return rows;
    while (!fill.is_none() && static_cast<long long>(row.size()) < count) {
      runtime.spend(4);
      row.push_back(fill);
    }
    rows.push_back(Value::list(std::move(row)));
    return rows;
  });
}

Value slice(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("slice", arguments, {"slices", "fill_with"}, 1);
  const long long slices = bound.small_integer(0, 0);
  const Value fill = bound.get(1, Value::none());
  return deferred(value, [&runtime, value, slices, fill] {
    const std::vector<Value> all = collect(runtime, value);
    if (slices == 0) throw Fault(FaultKind::kValue, "integer division or modulo by zero");
    std::vector<Value> columns;
    size_t at = 0;
    for (long long i = 0; i < slices; ++i) {
      runtime.spend(4);
      const bool longer = i < static_cast<long long>(all.size()) % slices;
      const size_t size = all.size() / static_cast<size_t>(slices) + (longer ? 1 : 0);
      std::vector<Value> column(all.begin() + static_cast<std::ptrdiff_t>(at),
                                all.begin() + static_cast<std::ptrdiff_t>(at + size));
      at += size;
      if (!fill.is_none() && !longer) column.push_back(fill);
      columns.push_back(Value::list(std::move(column)));
    }
    return columns;
  });
}

Value sum(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("sum", arguments, {"attribute", "start"}, 0);
  const AttributePath path(runtime, bound.get(0, Value::none()));
  Value total = bound.get(1, Value::integer(0));
  if (total.is_text()) throw Fault(FaultKind::kType, "sum() can't sum strings [use ''.join(seq) instead]");
  const auto iterator = iterate(value);
  for (Value item; iterator->next(item);) {
    runtime.spend(1);
    total = binary(runtime, Operator::kAdd, total, path.of(runtime, item));
  }
  return total;
}

enum class Extreme { kMin, kMax };

template <Extreme kExtreme>
Value extreme(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("min", arguments, {"case_sensitive", "attribute"}, 0);
  const AttributePath path(runtime, bound.get(1, Value::none()));
  const bool fold = !bound.truthy(0, false);
  const auto key_of = [&](const Value& item) {
    const Value key = path.of(runtime, item);
    return fold ? fold_case(key) : key;
  };
  const auto iterator = iterate(value);
  Value best;
  if (!iterator->next(best)) return Value::undefined("No aggregated item, sequence was empty.");
  Value best_key = key_of(best);
  for (Value item; iterator->next(item);) {
    const Value key = key_of(item);
    runtime.spend(1 + std::min(key.extent().weight, best_key.extent().weight));
    if (kExtreme == Extreme::kMin ? !less(key, best_key) : !less(best_key, key, ">")) continue;
    best = item;
    best_key = key;
  }
  return best;
}

struct Keyed {
  Value key, item;
};

// Python's sorted(): stable, and reverse keeps equal elements in their order too.
void sort_keyed(Runtime& runtime, std::vector<Keyed>& rows, bool descending) {
  const auto before = [&](const Keyed& a, const Keyed& b) {
    runtime.spend(1 + std::min(a.key.extent().weight, b.key.extent().weight));
    return less(a.key, b.key);
  };
  if (descending) std::reverse(rows.begin(), rows.end());
  std::stable_sort(rows.begin(), rows.end(), before);
  if (descending) std::reverse(rows.begin(), rows.end());
}

std::vector<Value> items_of(std::vector<Keyed> rows) {
  std::vector<Value> out;
  out.reserve(rows.size());
  for (Keyed& row : rows) out.push_back(std::move(row.item));
  return out;
}

Value dictsort(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("dictsort", arguments, {"case_sensitive", "by", "reverse"}, 0);
  const std::string by = bound.has(1) ? runtime.text(bound[1]) : "key";
  if (by != "key" && by != "value")
    throw Fault(FaultKind::kType, "You can only sort by either \"key\" or \"value\"");
  if (value.is_undefined()) throw_undefined(value);
  if (!value.is(Kind::kDict))
    throw Fault(FaultKind::kType, "'" + value.type_name() + "' object has no attribute 'items'");
  const bool fold = !bound.truthy(0, false);
  std::vector<Keyed> rows;
  for (const auto& [key, item] : value.as_dict().entries()) {
    const Value& chosen = by == "key" ? key : item;
    rows.push_back({fold ? fold_case(chosen) : chosen, Value::tuple({key, item})});
  }
  runtime.spend_walk(value);
  sort_keyed(runtime, rows, bound.truthy(2, false));
  return Value::list(items_of(std::move(rows)));
}

Value sort(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("sort", arguments, {"reverse", "case_sensitive", "attribute"}, 0);
  std::vector<AttributePath> paths;
  if (bound.has(2) && bound[2].is_text()) {
    const std::string& names = bound[2].as_text();
    for (size_t start = 0; start <= names.size();) {
      const size_t end = std::min(names.find(',', start), names.size());
      paths.emplace_back(runtime, Value::text(names.substr(start, end - start)));
      start = end + 1;
    }
  } else {
    paths.emplace_back(runtime, bound.get(2, Value::none()));
  }
  const bool fold = !bound.truthy(1, false);
  std::vector<Keyed> rows;
  for (const Value& item : collect(runtime, value)) {
    std::vector<Value> keys;
    for (const AttributePath& path : paths) {
      const Value key = path.of(runtime, item);
      keys.push_back(fold ? fold_case(key) : key);
    }
    rows.push_back({Value::list(std::move(keys)), item});
  }
  sort_keyed(runtime, rows, bound.truthy(0, false));
  return Value::list(items_of(std::move(rows)));
}

Value unique(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("unique", arguments, {"case_sensitive", "attribute"}, 0);
  const AttributePath path(runtime, bound.get(1, Value::none()));
  const bool fold = !bound.truthy(0, false);
  const std::shared_ptr<Iterator> source = iterate(value);
  const auto seen = std::make_shared<Dict>();
  return make_generator(value, [&runtime, path, fold, source, seen](Value& out) {
    while (source->next(out)) {
      const Value raw = path.of(runtime, out);
      const Value key = fold ? fold_case(raw) : raw;
      runtime.spend(1 + key.extent().weight);
      if (seen->find(key)) continue;
      seen->set(key, Value::none());
      return true;
    }
    return false;
  });
}

/// One row of groupby: a pair whose parts also have names.
class Group : public Object {
 public:
  Group(Value grouper, Value list) : pair_(Value::tuple({std::move(grouper), std::move(list)})) {}
  std::string type_name() const override { return "_GroupTuple"; }
  std::string description() const override { return "jinja2.filters._GroupTuple object"; }
  std::string repr() const override { return repr_of(pair_, kMaxReprBytes); }
  std::optional<size_t> length() override { return 2; }
  std::unique_ptr<Iterator> iterate() override { return jinja::iterate(pair_); }
  bool indexable() const override { return true; }
  std::uint32_t depth() const override { return pair_.extent().depth + 1; }
  Value attribute(std::string_view name) override {
    return name == "grouper" ? pair_.items()[0] : name == "list" ? pair_.items()[1] : Value();
  }
  Value item(const Value& key) override {
    if (!key.is_integral()) return Value();
    const Int index = key.as_int() < 0 ? key.as_int() + 2 : key.as_int();
    return index < 0 || index > 1 ? Value() : pair_.items()[static_cast<size_t>(index)];
  }

 private:
  static constexpr size_t kMaxReprBytes = size_t{64} << 20;
  Value pair_;
};

Value group_by(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("groupby", arguments, {"attribute", "default", "case_sensitive"}, 1);
  const AttributePath path(runtime, bound[0]);
  const Value fallback = bound.get(1, Value::none());
  const bool fold = !bound.truthy(2, false);
  std::vector<Keyed> rows;
  for (const Value& item : collect(runtime, value)) {
    const Value key = path.of(runtime, item, &fallback);
    rows.push_back({fold ? fold_case(key) : key, item});
  }
  sort_keyed(runtime, rows, false);
  std::vector<Value> groups;
  for (size_t start = 0; start < rows.size();) {
    size_t end = start;
    std::vector<Value> members;
    while (end < rows.size() && runtime.equal(rows[end].key, rows[start].key))
      members.push_back(rows[end++].item);
    if (end == start) members.push_back(rows[end++].item);  // A NaN equals nothing, not even itself.
    const Value key = fold ? path.of(runtime, rows[start].item, &fallback) : rows[start].key;
    groups.push_back(Value::object(std::make_shared<Group>(key, Value::list(std::move(members)))));
    start = end;
  }
  return Value::list(std::move(groups));
}

// pprint sorts dicts by key; what fits on one line it prints like repr.
Value sorted_dicts(const Value& value) {
  if (value.is_list_or_tuple()) {
    std::vector<Value> out;
    for (const Value& item : value.items()) out.push_back(sorted_dicts(item));
    return value.is(Kind::kList) ? Value::list(std::move(out)) : Value::tuple(std::move(out));
  }
  if (!value.is(Kind::kDict)) return value;
  std::vector<Dict::Entry> entries = value.as_dict().entries();
  std::stable_sort(entries.begin(), entries.end(), [](const Dict::Entry& a, const Dict::Entry& b) {
    return a.first.type_name() == b.first.type_name() ? less(a.first, b.first)
                                                      : a.first.type_name() < b.first.type_name();
  });
  Dict out;
  for (const auto& [key, item] : entries) out.set(key, sorted_dicts(item));
  return Value::dict(std::move(out));
}

Value pretty_print(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("pprint", arguments, {}, 0);
  runtime.spend_walk(value);
  return runtime.make_text(runtime.repr(sorted_dicts(value)));
}

const std::unordered_map<std::string_view, Filter>& sequence_table() {
  static const std::unordered_map<std::string_view, Filter> kTable = {
      {"batch", batch},
      {"count", length},
      {"dictsort", dictsort},
      {"first", first},
      {"groupby", group_by},
      {"items", items},
      {"join", join},
      {"last", last},
      {"length", length},
      {"list", list},
      {"max", extreme<Extreme::kMax>},
      {"min", extreme<Extreme::kMin>},
      {"pprint", pretty_print},
      {"reverse", reverse},
      {"slice", slice},
      {"sort", sort},
      {"sum", sum},
      {"unique", unique},
  };
  return kTable;
}

}  // namespace

Filter find_sequence_filter(std::string_view name) {
  const auto at = sequence_table().find(name);
  return at == sequence_table().end() ? nullptr : at->second;
}

}  // namespace lanner::text::jinja
