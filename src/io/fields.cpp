// SPDX-License-Identifier: MIT
#include "io/fields.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "io/message_text.h"

namespace lanner::io {
namespace {

struct Place {  ///< Where a value stands, for its error message.
  const std::string& source;
  std::string name;
};

Error wrong_value(const Place& place, const Json& value, std::string_view expected) {
  return {ErrorKind::kCorrupt, fmt::format("{}: {} is {}, expected {}", place.source, printable(place.name),
                                           describe(value), expected)};
}

std::string expected_text(IntRange range) {
  const IntRange any;
  if (range.min == any.min && range.max == any.max) return "an integer";
  if (range.max == any.max) return fmt::format("an integer >= {}", range.min);
  if (range.min == any.min) return fmt::format("an integer <= {}", range.max);
  return fmt::format("an integer from {} to {}", range.min, range.max);
}

std::string expected_text(NumberRange range) {
  const NumberRange any;
  std::string text = "a number";
  if (range.min == kAboveZero.min) {
    text += " > 0";
  } else if (range.min != any.min) {
    text += fmt::format(" >= {}", range.min);
  }
  if (range.max != any.max) text += fmt::format("{} <= {}", range.min == any.min ? "" : " and", range.max);
  return text;
}

/// The value as an integer when it is one; 8.0 and 1e3 are.
std::optional<std::int64_t> exact_int(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const auto number = value.get<double>();
  if (std::abs(number) > 0x1p53 || number != std::trunc(number)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::int64_t read(const Place& place, const Json& value, IntRange range) {
  const std::optional<std::int64_t> number = exact_int(value);
  if (!number || *number < range.min || *number > range.max)
    throw wrong_value(place, value, expected_text(range));
  return *number;
}

double read(const Place& place, const Json& value, NumberRange range) {
  if (!value.is_number()) throw wrong_value(place, value, expected_text(range));
  const auto number = value.get<double>();
  if (!(number >= range.min && number <= range.max)) throw wrong_value(place, value, expected_text(range));
  return number;
}

std::string read_string(const Place& place, const Json& value) {
  if (!value.is_string()) throw wrong_value(place, value, "a string");
  return value.get<std::string>();
}

/// Reads every element of an array with `read_element(place, value)`.
template <typename Read>
auto read_list(const Place& place, const Json& value, std::string_view expected, Read read_element) {
  std::vector<decltype(read_element(place, value))> list;
  if (!value.is_array()) throw wrong_value(place, value, expected);
  list.reserve(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) {
    list.push_back(read_element(Place{place.source, fmt::format("{}[{}]", place.name, i)}, value[i]));
  }
  return list;
}

template <typename Value>
Value required(const Fields& fields, std::string_view key, std::optional<Value> value,
               std::string_view expected) {
  if (!value) throw fields.unexpected(key, expected);
  return std::move(*value);
}

}  // namespace

std::string describe(const Json& value) {
  switch (value.type()) {
    case Json::value_t::string:
      return in_quotes(value.get_ref<const std::string&>()) + " (string)";
    case Json::value_t::boolean:
      return value.get<bool>() ? "true (boolean)" : "false (boolean)";
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float:
      return value.dump() + " (number)";
    case Json::value_t::array:
      return value.size() == 1 ? "an array of 1 value" : fmt::format("an array of {} values", value.size());
    case Json::value_t::object:
      return "an object";
    default:
      return "null";
  }
}

Fields::Fields(const Json& object, std::string source, std::string path)
    : object_(&object), source_(std::move(source)), path_(std::move(path)) {
  if (!object.is_object()) {
    throw wrong_value({source_, path_.empty() ? "the document" : path_}, object, "an object");
  }
}

std::string Fields::name_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

const Json* Fields::find(std::string_view key) const {
  const auto found = object_->find(key);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

std::vector<std::string> Fields::keys() const {
  std::vector<std::string> keys;
  for (const auto& item : object_->items()) keys.push_back(item.key());
  return keys;
}

Error Fields::unexpected(std::string_view key, std::string_view expected) const {
  if (const Json* value = find(key)) return wrong_value({source_, name_of(key)}, *value, expected);
  return {ErrorKind::kCorrupt,
          fmt::format("{}: {} is missing, expected {}", source_, printable(name_of(key)), expected)};
}

std::optional<std::int64_t> Fields::find_int(std::string_view key, IntRange range) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  return read({source_, name_of(key)}, *value, range);
}
std::int64_t Fields::required_int(std::string_view key, IntRange range) const {
  return required(*this, key, find_int(key, range), expected_text(range));
}
std::int64_t Fields::optional_int(std::string_view key, std::int64_t fallback, IntRange range) const {
  return find_int(key, range).value_or(fallback);
}

std::optional<double> Fields::find_number(std::string_view key, NumberRange range) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  return read({source_, name_of(key)}, *value, range);
}
double Fields::required_number(std::string_view key, NumberRange range) const {
  return required(*this, key, find_number(key, range), expected_text(range));
}
double Fields::optional_number(std::string_view key, double fallback, NumberRange range) const {
  return find_number(key, range).value_or(fallback);
}

std::optional<bool> Fields::find_bool(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) throw unexpected(key, "true or false");
  return value->get<bool>();
}
bool Fields::required_bool(std::string_view key) const {
  return required(*this, key, find_bool(key), "true or false");
}
bool Fields::optional_bool(std::string_view key, bool fallback) const {
  return find_bool(key).value_or(fallback);
}

std::optional<std::string> Fields::find_string(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  return read_string({source_, name_of(key)}, *value);
}
std::string Fields::required_string(std::string_view key) const {
  return required(*this, key, find_string(key), "a string");
}
std::string Fields::optional_string(std::string_view key, std::string_view fallback) const {
  return find_string(key).value_or(std::string(fallback));
}

std::optional<std::vector<std::int64_t>> Fields::find_ints(std::string_view key, IntRange range) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  return read_list({source_, name_of(key)}, *value, "an array of integers",
                   [&](const Place& place, const Json& element) { return read(place, element, range); });
}
std::vector<std::int64_t> Fields::required_ints(std::string_view key, IntRange range) const {
  return required(*this, key, find_ints(key, range), "an array of integers");
}
std::optional<std::vector<std::int64_t>> Fields::find_int_or_ints(std::string_view key,
                                                                  IntRange range) const {
  const Json* value = find(key);
  if (value == nullptr || value->is_array()) return find_ints(key, range);
  if (!exact_int(*value)) throw unexpected(key, "an integer or an array of integers");
  return std::vector{read({source_, name_of(key)}, *value, range)};
}

std::optional<std::vector<double>> Fields::find_numbers(std::string_view key, NumberRange range) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  return read_list({source_, name_of(key)}, *value, "an array of numbers",
                   [&](const Place& place, const Json& element) { return read(place, element, range); });
}
std::vector<double> Fields::required_numbers(std::string_view key, NumberRange range) const {
  return required(*this, key, find_numbers(key, range), "an array of numbers");
}

std::optional<std::vector<std::string>> Fields::find_strings(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  return read_list({source_, name_of(key)}, *value, "an array of strings", read_string);
}
std::vector<std::string> Fields::required_strings(std::string_view key) const {
  return required(*this, key, find_strings(key), "an array of strings");
}

std::optional<Fields> Fields::find_object(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  return Fields(*value, source_, name_of(key));
}
Fields Fields::required_object(std::string_view key) const {
  return required(*this, key, find_object(key), "an object");
}
std::vector<Fields> Fields::required_objects(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) throw unexpected(key, "an array of objects");
  return read_list(
      {source_, name_of(key)}, *value, "an array of objects",
      [](const Place& place, const Json& element) { return Fields(element, place.source, place.name); });
}

}  // namespace lanner::io
