// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "text/added_tokens.h"

namespace lanner::text::jinja {

/// Integers are exact up to 127 bits; beyond that arithmetic fails with an overflow error.
using Int = __int128;

class Value;
class Dict;
class Object;

/// Why a value is undefined: the message that using it will raise.
struct Undefined {
  std::string message;
  bool forbidden = false;  ///< The sandbox hid it: using it is a security fault.
};

/// Byte ranges of a text that users wrote, as opposed to the template: ascending, not touching.
using LiteralSpans = std::vector<TextSpan>;

/// Text, with Jinja's "safe" mark (markupsafe.Markup), which changes what + and some methods do.
struct Text {
  std::string bytes;
  bool safe = false;
  LiteralSpans literal = {};
};

/// Size of a value as a tree: how deep it nests and about how much work one walk over it is.
struct Extent {
  std::uint32_t depth = 0;
  std::uint64_t weight = 1;
  bool literal = false;  ///< It holds literal text somewhere.
};

/// Containers nest at most this deep; recursion over values therefore needs no other guard.
inline constexpr std::uint32_t kMaxValueDepth = 256;
/// Largest weight of one container: bounds what copies of shared parts can blow up to.
inline constexpr std::uint64_t kMaxValueWeight = std::uint64_t{1} << 26;

struct Sequence {
  std::vector<Value> items;
  Extent extent;
};

enum class Kind { kMissing, kUndefined, kNone, kBool, kInt, kFloat, kText, kList, kTuple, kDict, kObject };

/// One Python-like value. Cheap to copy; everything but some objects is immutable, as in Jinja's immutable
/// sandbox.
class Value {
 public:
  Value() = default;  ///< Missing: a variable not set. Never seen by template code.
  static Value undefined(std::string message);
  static Value forbidden(std::string message);
  static Value none();
  static Value boolean(bool value);
  static Value integer(Int value);
  static Value real(double value);
  static Value text(std::string bytes);
  static Value text(std::string_view bytes) { return text(std::string(bytes)); }
  static Value text(const char* bytes) { return text(std::string(bytes)); }
  static Value safe_text(std::string bytes);
  /// Text of which `literal` is what users wrote.
  static Value text(std::string bytes, LiteralSpans literal);
  /// Text that keeps the safe mark of `origin`.
  static Value text_like(const Value& origin, std::string bytes);
  static Value list(std::vector<Value> items);
  static Value tuple(std::vector<Value> items);
  static Value dict(Dict entries);
  static Value object(std::shared_ptr<Object> object);
  /// Whether the strings of a JSON value are literal text.
  enum class Origin { kTemplate, kUser };
  static Value from_json(const nlohmann::ordered_json& json, Origin origin);

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool is(Kind kind) const { return this->kind() == kind; }
  bool is_missing() const { return is(Kind::kMissing); }
  bool is_undefined() const { return is(Kind::kUndefined); }
  bool is_none() const { return is(Kind::kNone); }
  bool is_text() const { return is(Kind::kText); }
  bool is_safe_text() const { return is_text() && std::get<TextPointer>(data_)->safe; }
  bool is_list_or_tuple() const { return is(Kind::kList) || is(Kind::kTuple); }
  /// bool or int: what Python accepts where it wants an integer.
  bool is_integral() const { return is(Kind::kBool) || is(Kind::kInt); }
  bool is_number() const { return is_integral() || is(Kind::kFloat); }

  const Undefined& as_undefined() const { return *std::get<UndefinedPointer>(data_); }
  bool as_bool() const { return std::get<bool>(data_); }
  Int as_int() const { return is(Kind::kBool) ? Int{std::get<bool>(data_)} : std::get<Int>(data_); }
  double as_double() const;  ///< Of any number.
  const std::string& as_text() const { return std::get<TextPointer>(data_)->bytes; }
  const LiteralSpans& literal_spans() const { return std::get<TextPointer>(data_)->literal; }
  /// Bytes [begin, end) of a text, with its marks.
  Value subtext(size_t begin, size_t end) const;
  /// The same for a view into as_text().
  Value subtext(std::string_view part) const;
  /// A text as literal from end to end.
  Value as_literal() const;
  bool has_literal() const { return extent().literal; }
  const std::vector<Value>& items() const;  ///< Of a list or tuple.
  const Dict& as_dict() const { return *std::get<DictPointer>(data_); }
  const std::shared_ptr<Object>& as_object() const { return std::get<ObjectPointer>(data_); }

  /// Python's type(value).__name__.
  std::string type_name() const;
  bool truthy() const;
  Extent extent() const;
  /// Python's `is`: the same object (equal for None, booleans and numbers of one type).
  bool identical(const Value& other) const;

 private:
  struct None {};
  struct TupleTag {
    std::shared_ptr<const Sequence> sequence;
  };
  using UndefinedPointer = std::shared_ptr<const Undefined>;
  using TextPointer = std::shared_ptr<const Text>;
  using ListPointer = std::shared_ptr<const Sequence>;
  using DictPointer = std::shared_ptr<const Dict>;
  using ObjectPointer = std::shared_ptr<Object>;
  using Data = std::variant<std::monostate, UndefinedPointer, None, bool, Int, double, TextPointer,
                            ListPointer, TupleTag, DictPointer, ObjectPointer>;

  static Value convert(const nlohmann::ordered_json& json, Origin origin, std::uint32_t depth);

  explicit Value(Data data) : data_(std::move(data)) {}

  Data data_;
};

/// Insertion-ordered mapping with Python's key equality (1 == 1.0 == True).
class Dict {
 public:
  using Entry = std::pair<Value, Value>;

  /// Replaces in place or appends. Faults when the key is unhashable or the dict grows too large.
  void set(Value key, Value value);
  const Value* find(const Value& key) const;  ///< nullptr when absent. Faults when unhashable.
  const Value* find(std::string_view key) const;
  size_t size() const { return entries_.size(); }
  const std::vector<Entry>& entries() const { return entries_; }
  Extent extent() const { return extent_; }

 private:
  static constexpr size_t kLinearSearch = 8;  ///< Below this a scan beats hashing.

  const size_t* lookup(const Value& key, size_t hash) const;

  std::vector<Entry> entries_;
  std::unordered_multimap<size_t, size_t> index_;
  Extent extent_;
};

/// Yields the elements of an iterable one by one.
class Iterator {
 public:
  virtual ~Iterator() = default;
  virtual bool next(Value& out) = 0;
};

struct CallArguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keyword;
};

class Runtime;

/// Values that are neither data nor text: ranges, views, generators, namespaces, macros, functions, loops.
class Object {
 public:
  virtual ~Object() = default;
  virtual std::string type_name() const = 0;
  /// How Jinja's messages name the object.
  virtual std::string description() const { return type_name() + " object"; }
  virtual std::string repr() const { return "<" + type_name() + " object>"; }
  virtual bool truthy() const { return true; }
  virtual std::optional<size_t> length() { return std::nullopt; }
  virtual std::unique_ptr<Iterator> iterate() { return nullptr; }  ///< nullptr: not iterable.
  virtual std::unique_ptr<Iterator> iterate_reversed() { return nullptr; }
  virtual Value attribute(std::string_view /*name*/) { return Value(); }  ///< Missing when there is none.
  virtual Value item(const Value& /*key*/) { return Value(); }            ///< Missing when there is none.
  virtual bool indexable() const { return false; }
  virtual bool callable() const { return false; }
  virtual Value call(Runtime&, const CallArguments&);
  virtual std::uint32_t depth() const { return 0; }
  virtual bool literal() const { return false; }  ///< It may hold literal text.
};

/// Python's ==. Undefined equals undefined only.
bool equals(const Value& a, const Value& b);
/// Python's <; faults for types without an order.
bool less(const Value& a, const Value& b, std::string_view operator_name = "<");
/// Python's hash(); faults when unhashable (list, dict).
size_t hash_of(const Value& value);
bool is_hashable(const Value& value);

}  // namespace lanner::text::jinja
