// SPDX-License-Identifier: MIT
#include "server/json_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "io/message_text.h"
#include "server/problem.h"

namespace lanner::server {

namespace {

/// JSON's integers beyond 64 bits are read as floating point.
bool is_beyond_integers(const Json& value) {
  return value.is_number_float() && std::abs(value.get<double>()) >= 0x1p63;
}

}  // namespace

void refuse_type(std::string_view param, std::string_view expected, const Json& found) {
  const char* type = found.is_number_float() ? "number with a fraction or exponent" : found.type_name();
  refuse_field(param, "invalid_type", fmt::format("{} must be {}, found a {}", param, expected, type));
}

JsonFields::JsonFields(const Json& object, std::string path) : object_(&object), path_(std::move(path)) {
  if (!object.is_object()) refuse_type(path_.empty() ? "body" : path_, "an object", object);
}

std::string JsonFields::path(std::string_view name) const {
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

const Json* JsonFields::find(std::string_view name) const {
  asked_.emplace(name);
  const auto at = object_->find(std::string(name));
  return at == object_->end() || at->is_null() ? nullptr : &*at;
}

const Json& JsonFields::require(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr) refuse_field(path(name), "missing_field", path(name) + " is required");
  return *value;
}

std::optional<bool> JsonFields::boolean(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) refuse_type(path(name), "of type bool", *value);
  return value->get<bool>();
}

std::optional<std::int64_t> JsonFields::integer(std::string_view name, IntegerRange range) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  const bool too_large =
      is_beyond_integers(*value) ||
      (value->is_number_unsigned() &&
       value->get<std::uint64_t>() > std::uint64_t(std::numeric_limits<std::int64_t>::max()));
  if (!too_large && !value->is_number_integer()) refuse_type(path(name), "a whole number", *value);
  if (too_large || value->get<std::int64_t>() < range.low || value->get<std::int64_t>() > range.high)
    refuse_field(
        path(name), "invalid_value",
        fmt::format("{} is {}, expected {} to {}", path(name), value->dump(), range.low, range.high));
  return value->get<std::int64_t>();
}

std::optional<double> JsonFields::number(std::string_view name, NumberRange range) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) refuse_type(path(name), "a number", *value);
  const double number = value->get<double>();
  if (!(number >= range.low && number <= range.high))
    refuse_field(
        path(name), "invalid_value",
        fmt::format("{} is {}, expected {} to {}", path(name), value->dump(), range.low, range.high));
  return number;
}

std::optional<std::string> JsonFields::string(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) refuse_type(path(name), "a string", *value);
  return value->get<std::string>();
}

std::string JsonFields::require_string(std::string_view name) const {
  require(name);
  return *string(name);
}

const Json* JsonFields::object(std::string_view name) const {
  const Json* value = find(name);
  if (value != nullptr && !value->is_object()) refuse_type(path(name), "an object", *value);
  return value;
}

const Json* JsonFields::array(std::string_view name) const {
  const Json* value = find(name);
  if (value != nullptr && !value->is_array()) refuse_type(path(name), "an array", *value);
  return value;
}

std::optional<std::string> JsonFields::one_of(std::string_view name,
                                              const std::vector<std::string>& allowed) const {
  std::optional<std::string> value = string(name);
  if (value && std::ranges::find(allowed, *value) == allowed.end())
    refuse_field(path(name), "invalid_value",
                 fmt::format("{} is {}, expected one of {}", path(name), io::in_quotes(*value),
                             fmt::join(allowed, ", ")));
  return value;
}

std::optional<std::vector<TokenId>> JsonFields::token_ids(std::string_view name,
                                                          std::size_t vocabulary) const {
  const Json* value = array(name);
  if (value == nullptr) return std::nullopt;
  return read_token_ids(*value, path(name), vocabulary);
}

void JsonFields::refuse_unknown() const {
  for (const auto& [name, value] : object_->items())
    if (!asked_.contains(name))
      refuse_field(path(io::printable(name)), "unknown_field",
                   fmt::format("there is no field {}", io::in_quotes(path(name))));
}

std::vector<TokenId> read_token_ids(const Json& array, std::string_view param, std::size_t vocabulary) {
  std::vector<TokenId> ids;
  ids.reserve(array.size());
  for (const Json& id : array) {
    const std::string at = fmt::format("{}[{}]", param, ids.size());
    const bool too_large = is_beyond_integers(id);
    if (!too_large && !id.is_number_integer()) refuse_type(at, "a token id", id);
    if (too_large || (!id.is_number_unsigned() && id.get<std::int64_t>() < 0) ||
        id.get<std::uint64_t>() >= vocabulary)
      refuse_field(at, "invalid_value",
                   fmt::format("{} is {}, expected a token id from 0 to {}", at, id.dump(), vocabulary - 1));
    ids.push_back(id.get<TokenId>());
  }
  return ids;
}

}  // namespace lanner::server
