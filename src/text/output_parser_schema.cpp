// SPDX-License-Identifier: MIT
#include "text/output_parser_schema.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include "text/markup_blanks.h"

namespace lanner::text {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kMaxSchemaDepth = 32;

unsigned type_of_name(const std::string& name) {
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (lower == "string") return ValueSchema::kString;
  if (lower == "integer") return ValueSchema::kInteger;
  if (lower == "number") return ValueSchema::kNumber;
  if (lower == "boolean") return ValueSchema::kBoolean;
  if (lower == "object") return ValueSchema::kObject;
  if (lower == "array") return ValueSchema::kArray;
  return lower == "null" ? unsigned{ValueSchema::kNull} : 0u;
}

unsigned type_of_value(const OrderedJson& value) {
  if (value.is_string()) return ValueSchema::kString;
  if (value.is_boolean()) return ValueSchema::kBoolean;
  if (value.is_number_integer()) return ValueSchema::kInteger;
  if (value.is_number()) return ValueSchema::kNumber;
  if (value.is_object()) return ValueSchema::kObject;
  return value.is_array() ? unsigned{ValueSchema::kArray} : unsigned{ValueSchema::kNull};
}

unsigned types_of(const OrderedJson& schema, int depth) {
  if (!schema.is_object() || depth > kMaxSchemaDepth) return 0;
  unsigned types = 0;
  const auto type = schema.find("type");
  if (type != schema.end() && type->is_string()) types |= type_of_name(type->get<std::string>());
  if (type != schema.end() && type->is_array())
    for (const OrderedJson& name : *type)
      if (name.is_string()) types |= type_of_name(name.get<std::string>());
  if (types == 0) {
    for (const char* key : {"anyOf", "oneOf"})
      if (const auto branches = schema.find(key); branches != schema.end() && branches->is_array())
        for (const OrderedJson& branch : *branches) types |= types_of(branch, depth + 1);
    if (const auto values = schema.find("enum"); types == 0 && values != schema.end() && values->is_array())
      for (const OrderedJson& value : *values) types |= type_of_value(value);
    if (const auto value = schema.find("const"); types == 0 && value != schema.end())
      types |= type_of_value(*value);
    if (types == 0 && schema.contains("properties")) types |= ValueSchema::kObject;
    if (types == 0 && schema.contains("items")) types |= ValueSchema::kArray;
  }
  const auto nullable = schema.find("nullable");
  if (types != 0 && nullable != schema.end() && *nullable == true) types |= ValueSchema::kNull;
  return types;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

bool is_json_number(std::string_view text) {
  return !text.empty() && (text[0] == '-' || std::isdigit(static_cast<unsigned char>(text[0]))) &&
         is_json(text);
}

// "3" stays, "3.0" and "3e2" become integers, "3.5" is none.
std::optional<std::string> as_integer(std::string_view text) {
  if (!is_json_number(text)) return std::nullopt;
  if (text.find_first_of(".eE") == std::string_view::npos) return std::string(text);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr double kExact = 0x1p53;
  if (std::trunc(value) != value || std::fabs(value) > kExact) return std::nullopt;
  return std::to_string(static_cast<long long>(value));
}

std::optional<std::string> as_null(std::string_view text) {
  const std::string lower = lower_case(text);
  if (lower == "null" || text == "None") return "null";
  return std::nullopt;
}

std::optional<std::string> as_boolean(std::string_view text) {
  std::string lower = lower_case(text);
  if (lower == "true" || lower == "false") return lower;
  return std::nullopt;
}

std::optional<std::string> as_container(std::string_view text, unsigned types) {
  const auto fits = [&](char open) {
    return (open == '{' && (types & ValueSchema::kObject)) || (open == '[' && (types & ValueSchema::kArray));
  };
  if (text.empty()) return std::nullopt;
  if (fits(text[0]) && is_json(text)) return std::string(text);
  std::string converted = json_from_python_literal(text);
  if (!converted.empty() && fits(converted[0])) return converted;
  return std::nullopt;
}

std::optional<std::string> as_untyped(std::string_view text, Untyped untyped) {
  if (is_json(text) && (untyped == Untyped::kAnyLiteral || text[0] != '"')) return std::string(text);
  if (untyped == Untyped::kAnyLiteral && (text == "None" || text == "True" || text == "False"))
    return text == "None" ? "null" : lower_case(text);
  return std::nullopt;
}

std::optional<std::string> coerced(std::string_view text, unsigned types, Untyped untyped) {
  if (types == 0) return as_untyped(text, untyped);
  std::optional<std::string> json;
  if (types & ValueSchema::kNull) json = as_null(text);
  if (!json && (types & ValueSchema::kInteger)) json = as_integer(text);
  if (!json && (types & ValueSchema::kNumber) && is_json_number(text)) json = std::string(text);
  if (!json && (types & ValueSchema::kBoolean)) json = as_boolean(text);
  if (!json && (types & (ValueSchema::kObject | ValueSchema::kArray))) json = as_container(text, types);
  return json;
}

}  // namespace

ValueSchema ValueSchema::property(std::string_view name) const {
  if (!schema_ || !schema_->is_object()) return {};
  const auto properties = schema_->find("properties");
  if (properties != schema_->end() && properties->is_object()) {
    const auto at = properties->find(std::string(name));
    if (at != properties->end()) return ValueSchema(&*at);
  }
  const auto additional = schema_->find("additionalProperties");
  return additional != schema_->end() && additional->is_object() ? ValueSchema(&*additional) : ValueSchema();
}

ValueSchema ValueSchema::element() const {
  if (!schema_ || !schema_->is_object()) return {};
  const auto items = schema_->find("items");
  return items != schema_->end() && items->is_object() ? ValueSchema(&*items) : ValueSchema();
}

unsigned ValueSchema::types() const { return schema_ ? types_of(*schema_, 0) : 0; }

bool is_json(std::string_view text) {
  // The JSON library takes a NUL byte for the end of its input.
  return text.find('\0') == std::string_view::npos && OrderedJson::accept(text);
}

std::string json_escaped(std::string_view text) {
  std::string quoted = json_string(text);
  return quoted.substr(1, quoted.size() - 2);
}

std::string json_string(std::string_view text) {
  return OrderedJson(text).dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string coerce_to_json(std::string_view text, ValueSchema schema, Untyped untyped) {
  return coerced(trimmed(text), schema.types(), untyped).value_or(json_string(text));
}

}  // namespace lanner::text
