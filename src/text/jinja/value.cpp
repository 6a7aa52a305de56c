// SPDX-License-Identifier: MIT
#include "text/jinja/value.h"

#include <algorithm>

#include "text/jinja/fault.h"

namespace lanner::text::jinja {
namespace {

constexpr std::uint64_t kBytesPerWeight = 32;

[[noreturn]] void throw_too_deep() {
  throw Fault(FaultKind::kLimit, "value nests deeper than " + std::to_string(kMaxValueDepth) + " levels");
}

void include(Extent& whole, const Value& part) {
  const Extent extent = part.extent();
  whole.depth = std::max(whole.depth, extent.depth + 1);
  whole.weight += extent.weight;
  whole.literal |= extent.literal;

  if (whole.depth > kMaxValueDepth) throw_too_deep();
  if (whole.weight > kMaxValueWeight) throw Fault(FaultKind::kLimit, "value is too large");
}

std::shared_ptr<const Sequence> make_sequence(std::vector<Value> items) {
  auto sequence = std::make_shared<Sequence>();
  for (const Value& item : items) include(sequence->extent, item);
  sequence->items = std::move(items);
  return sequence;
}

}  // namespace

Value Value::undefined(std::string message) {
  return Value(Data(std::make_shared<const Undefined>(Undefined{std::move(message), false})));
}
Value Value::forbidden(std::string message) {
  return Value(Data(std::make_shared<const Undefined>(Undefined{std::move(message), true})));
}
Value Value::none() { return Value(Data(None{})); }
Value Value::boolean(bool value) { return Value(Data(value)); }
Value Value::integer(Int value) { return Value(Data(value)); }
Value Value::real(double value) { return Value(Data(value)); }
Value Value::text(std::string bytes) {
  return Value(Data(std::make_shared<const Text>(Text{std::move(bytes)})));
}
Value Value::text(std::string bytes, LiteralSpans literal) {
  return Value(Data(std::make_shared<const Text>(Text{std::move(bytes), false, std::move(literal)})));
}
Value Value::safe_text(std::string bytes) {
  return Value(Data(std::make_shared<const Text>(Text{std::move(bytes), true, {}})));
}
Value Value::text_like(const Value& origin, std::string bytes) {
  return origin.is_safe_text() ? safe_text(std::move(bytes)) : text(std::move(bytes));
}
Value Value::list(std::vector<Value> items) { return Value(Data(make_sequence(std::move(items)))); }
Value Value::tuple(std::vector<Value> items) {
  return Value(Data(TupleTag{make_sequence(std::move(items))}));
}
Value Value::dict(Dict entries) { return Value(Data(std::make_shared<const Dict>(std::move(entries)))); }
Value Value::object(std::shared_ptr<Object> object) { return Value(Data(std::move(object))); }

Value Value::from_json(const nlohmann::ordered_json& json, Origin origin) { return convert(json, origin, 0); }

Value Value::convert(const nlohmann::ordered_json& json, Origin origin, std::uint32_t depth) {
  if (depth > kMaxValueDepth) throw_too_deep();
  using Type = nlohmann::ordered_json::value_t;
  switch (json.type()) {
    case Type::boolean:
      return boolean(json.get<bool>());
    case Type::number_integer:
      return integer(json.get<std::int64_t>());
    case Type::number_unsigned:
      return integer(json.get<std::uint64_t>());
    case Type::number_float:
      return real(json.get<double>());
    case Type::string: {
      const Value plain = text(json.get_ref<const std::string&>());
      return origin == Origin::kUser ? plain.as_literal() : plain;
    }

    case Type::array: {
      std::vector<Value> items;
      items.reserve(json.size());
      for (const auto& item : json) items.push_back(convert(item, origin, depth + 1));
      return list(std::move(items));
    }
    case Type::object: {
      Dict entries;
      for (const auto& [key, item] : json.items())
        entries.set(origin == Origin::kUser ? text(key).as_literal() : text(key),
                    convert(item, origin, depth + 1));
      return dict(std::move(entries));
    }
    default:
      return none();
  }
}

Value Value::subtext(size_t begin, size_t end) const {
  const Text& whole = *std::get<TextPointer>(data_);
  Text part{whole.bytes.substr(begin, end - begin), whole.safe, {}};
  for (const TextSpan& span : whole.literal) {
    const size_t first = std::max(span.begin, begin), last = std::min(span.end, end);
    if (first < last) part.literal.push_back({first - begin, last - begin});
  }
  return Value(Data(std::make_shared<const Text>(std::move(part))));
}

Value Value::subtext(std::string_view part) const {
  if (part.empty()) return text_like(*this, "");
  const auto begin = static_cast<size_t>(part.data() - as_text().data());
  return subtext(begin, begin + part.size());
}

Value Value::as_literal() const {
  const std::string& bytes = as_text();
  LiteralSpans whole;
  if (!bytes.empty()) whole.push_back({0, bytes.size()});
  return Value(Data(std::make_shared<const Text>(Text{bytes, is_safe_text(), std::move(whole)})));
}

double Value::as_double() const {
  return is(Kind::kFloat) ? std::get<double>(data_) : static_cast<double>(as_int());
}

const std::vector<Value>& Value::items() const {
  if (const auto* tuple = std::get_if<TupleTag>(&data_)) return tuple->sequence->items;
  return std::get<ListPointer>(data_)->items;
}

std::string Value::type_name() const {
  switch (kind()) {
    case Kind::kMissing:
      return "missing";
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kText:
      return is_safe_text() ? "Markup" : "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kObject:
      return as_object()->type_name();
  }
  return {};
}

bool Value::truthy() const {
  switch (kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
      return as_bool();
    case Kind::kInt:
      return as_int() != 0;
    case Kind::kFloat:
      return std::get<double>(data_) != 0;
    case Kind::kText:
      return !as_text().empty();
    case Kind::kList:
    case Kind::kTuple:
      return !items().empty();
    case Kind::kDict:
      return as_dict().size() != 0;
    case Kind::kObject:
      return as_object()->truthy();
  }
  return false;
}

Extent Value::extent() const {
  switch (kind()) {
    case Kind::kText:
      return {0, 1 + as_text().size() / kBytesPerWeight, !literal_spans().empty()};

    case Kind::kList:
      return std::get<ListPointer>(data_)->extent;
    case Kind::kTuple:
      return std::get<TupleTag>(data_).sequence->extent;
    case Kind::kDict:
      return as_dict().extent();
    case Kind::kObject:
      return {as_object()->depth(), 1, as_object()->literal()};

    default:
      return {};
  }
}

bool Value::identical(const Value& other) const {
  if (kind() != other.kind()) return false;
  switch (kind()) {
    case Kind::kMissing:
    case Kind::kNone:
      return true;
    case Kind::kUndefined:
      return &as_undefined() == &other.as_undefined();
    case Kind::kBool:
    case Kind::kInt:
      return as_int() == other.as_int();
    case Kind::kFloat:
      return std::get<double>(data_) == std::get<double>(other.data_);
    case Kind::kText:
      return is_safe_text() == other.is_safe_text() && as_text() == other.as_text();
    case Kind::kList:
      return std::get<ListPointer>(data_) == std::get<ListPointer>(other.data_);
    case Kind::kTuple:
      return std::get<TupleTag>(data_).sequence == std::get<TupleTag>(other.data_).sequence ||
             (items().empty() && other.items().empty());
    case Kind::kDict:
      return std::get<DictPointer>(data_) == std::get<DictPointer>(other.data_);
    case Kind::kObject:
      return as_object() == other.as_object();
  }
  return false;
}

const size_t* Dict::lookup(const Value& key, size_t hash) const {
  const auto [first, last] = index_.equal_range(hash);
  for (auto at = first; at != last; ++at)
    if (equals(entries_[at->second].first, key)) return &at->second;
  return nullptr;
}

void Dict::set(Value key, Value value) {
  if (const Value* found = find(key)) {
    include(extent_, value);
    const auto at =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return &e.second == found; });
    at->second = std::move(value);
    return;
  }
  include(extent_, key);
  include(extent_, value);
  if (entries_.size() == kLinearSearch)
    for (size_t i = 0; i < entries_.size(); ++i) index_.emplace(hash_of(entries_[i].first), i);
  if (entries_.size() >= kLinearSearch) index_.emplace(hash_of(key), entries_.size());
  entries_.emplace_back(std::move(key), std::move(value));
}

const Value* Dict::find(const Value& key) const {
  const size_t hash = hash_of(key);
  if (entries_.size() > kLinearSearch) {
    const size_t* at = lookup(key, hash);
    return at ? &entries_[*at].second : nullptr;
  }
  for (const Entry& entry : entries_)
    if (equals(entry.first, key)) return &entry.second;
  return nullptr;
}

const Value* Dict::find(std::string_view key) const {
  if (entries_.size() > kLinearSearch) return find(Value::text(key));
  for (const Entry& entry : entries_)
    if (entry.first.is_text() && entry.first.as_text() == key) return &entry.second;
  return nullptr;
}

Value Object::call(Runtime&, const CallArguments&) {
  throw Fault(FaultKind::kType, "'" + type_name() + "' object is not callable");
}

}  // namespace lanner::text::jinja
