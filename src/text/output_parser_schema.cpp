// SPDX-License-Identifier: MIT
#include "text/output_parser_schema.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "text/markup_blanks.h"

namespace lanner::text {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Schemas that are looked at for one value; where there are more, nothing is known.
constexpr std::size_t kMaxParts = 500;

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

/// Types that two schemas both allow; 0 says nothing.
unsigned both(unsigned a, unsigned b) {
  if (a == 0 || b == 0) return a | b;
  const auto widened = [](unsigned types) {
    return types & ValueSchema::kNumber ? types | ValueSchema::kInteger : types;
  };
  const unsigned common = widened(a) & widened(b);
  return common & ValueSchema::kNumber ? common & ~unsigned{ValueSchema::kInteger} : common;
}

unsigned implied_types(const OrderedJson& schema) {
  constexpr std::pair<const char*, unsigned> kImplied[] = {{"properties", ValueSchema::kObject},
                                                           {"required", ValueSchema::kObject},
                                                           {"minProperties", ValueSchema::kObject},
                                                           {"maxProperties", ValueSchema::kObject},
                                                           {"propertyNames", ValueSchema::kObject},
                                                           {"patternProperties", ValueSchema::kObject},
                                                           {"items", ValueSchema::kArray},
                                                           {"additionalProperties", ValueSchema::kObject},
                                                           {"prefixItems", ValueSchema::kArray},
                                                           {"unevaluatedProperties", ValueSchema::kObject},
                                                           {"minItems", ValueSchema::kArray},
                                                           {"maxItems", ValueSchema::kArray},
                                                           {"minLength", ValueSchema::kString},
                                                           {"maxLength", ValueSchema::kString},
                                                           {"pattern", ValueSchema::kString},
                                                           {"format", ValueSchema::kString},
                                                           {"minimum", ValueSchema::kNumber},
                                                           {"maximum", ValueSchema::kNumber},
                                                           {"exclusiveMinimum", ValueSchema::kNumber},
                                                           {"exclusiveMaximum", ValueSchema::kNumber},
                                                           {"multipleOf", ValueSchema::kNumber}};
  unsigned types = 0;
  for (const auto& [keyword, type] : kImplied)
    if (schema.contains(keyword)) types |= type;
  return types;
}

const OrderedJson* resolved(const OrderedJson& root, const OrderedJson& reference) {
  if (!reference.is_string() || !reference.get_ref<const std::string&>().starts_with('#')) return nullptr;
  try {
    const OrderedJson::json_pointer pointer(reference.get_ref<const std::string&>().substr(1));
    return root.contains(pointer) ? &root[pointer] : nullptr;
  } catch (const OrderedJson::exception&) {
    return nullptr;
  }
}

/// Finds the types of schemas of one root, as long as they have few parts.
class TypeFinder {
 public:
  explicit TypeFinder(const OrderedJson& root) : root_(root) {}

  unsigned types_of(const OrderedJson& schema) {
    if (!schema.is_object() || parts_ > kMaxParts || depth_ > kMaxDepth) return 0;
    ++parts_;
    ++depth_;
    unsigned types = both(named_types(schema), value_types(schema));
    if (const auto reference = schema.find("$ref"); reference != schema.end())
      if (const OrderedJson* other = resolved(root_, *reference)) types = both(types, types_of(*other));
    if (const auto all = schema.find("allOf"); all != schema.end() && all->is_array())
      for (const OrderedJson& part : *all) types = both(types, types_of(part));
    for (const char* key : {"anyOf", "oneOf"})
      if (const auto branches = schema.find(key); branches != schema.end() && branches->is_array()) {
        unsigned any = 0;
        for (const OrderedJson& branch : *branches) any |= types_of(branch);
        types = both(types, any);
      }
    --depth_;
    return types == 0 ? implied_types(schema) : types;
  }
  /// More parts than were looked at: what was found may not be all.
  bool gave_up() const { return parts_ > kMaxParts; }

 private:
  static constexpr int kMaxDepth = 32;

  static unsigned named_types(const OrderedJson& schema) {
    const auto type = schema.find("type");
    if (type == schema.end()) return 0;
    unsigned types = type->is_string() ? type_of_name(type->get<std::string>()) : 0;
    if (type->is_array())
      for (const OrderedJson& name : *type)
        if (name.is_string()) types |= type_of_name(name.get<std::string>());
    const auto nullable = schema.find("nullable");
    const bool may_be_null = nullable != schema.end() && *nullable == true;
    return types != 0 && may_be_null ? types | ValueSchema::kNull : types;
  }

  static unsigned value_types(const OrderedJson& schema) {
    unsigned types = 0;
    if (const auto values = schema.find("enum"); values != schema.end() && values->is_array())
      for (const OrderedJson& value : *values) types |= type_of_value(value);
    if (const auto value = schema.find("const"); value != schema.end())
      types = both(types, type_of_value(*value));
    return types;
  }

  const OrderedJson& root_;
  std::size_t parts_ = 0;
  int depth_ = 0;
};

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

ValueSchema::ValueSchema(const OrderedJson* root, Schemas schemas)
    : root_(root), schemas_(std::move(schemas)) {
  if (schemas_.empty()) return;
  TypeFinder finder(*root_);
  for (const OrderedJson* schema : schemas_) types_ |= finder.types_of(*schema);
  if (finder.gave_up()) types_ = 0;
}

// The schemas themselves and all that they refer to and are combined of.
std::optional<ValueSchema::Schemas> ValueSchema::parts() const {
  Schemas parts;
  const auto add = [&](const OrderedJson* schema) {
    if (schema != nullptr && schema->is_object() && parts.size() <= kMaxParts &&
        std::ranges::find(parts, schema) == parts.end())
      parts.push_back(schema);
  };
  for (const OrderedJson* schema : schemas_) add(schema);
  std::size_t next = 0;
  while (next < parts.size()) {
    const OrderedJson& schema = *parts[next++];
    if (const auto reference = schema.find("$ref"); reference != schema.end())
      add(resolved(*root_, *reference));
    for (const char* key : {"allOf", "anyOf", "oneOf"})
      if (const auto others = schema.find(key); others != schema.end() && others->is_array())
        for (const OrderedJson& other : *others) add(&other);
  }
  return parts.size() > kMaxParts ? std::nullopt : std::optional(std::move(parts));
}

ValueSchema ValueSchema::property(std::string_view name) const {
  const auto all = parts();
  if (!all) return {};
  Schemas found;
  for (const OrderedJson* schema : *all) {
    const auto properties = schema->find("properties");
    if (properties != schema->end() && properties->is_object())
      if (const auto at = properties->find(std::string(name)); at != properties->end()) {
        found.push_back(&*at);
        continue;
      }
    if (schema->contains("patternProperties")) return {};
    const auto additional = schema->find("additionalProperties");
    if (additional != schema->end() && additional->is_object()) found.push_back(&*additional);
  }
  return {root_, std::move(found)};
}

ValueSchema ValueSchema::element() const {
  const auto all = parts();
  if (!all) return {};
  Schemas found;
  for (const OrderedJson* schema : *all)
    for (const char* key : {"items", "prefixItems", "additionalItems"}) {
      const auto items = schema->find(key);
      if (items == schema->end()) continue;
      if (items->is_object()) found.push_back(&*items);
      if (items->is_array())
        for (const OrderedJson& item : *items) found.push_back(&item);
    }
  return {root_, std::move(found)};
}

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

std::string coerce_to_json(std::string_view text, const ValueSchema& schema, Untyped untyped) {
  return coerced(trimmed(text), schema.types(), untyped).value_or(json_string(text));
}

}  // namespace lanner::text
