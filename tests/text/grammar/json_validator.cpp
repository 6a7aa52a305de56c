// SPDX-License-Identifier: MIT
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/grammar/json_validator.h"

#include <pcre2.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>

#include "text/unicode.h"

namespace lanner::text::grammar::test {

namespace {

using Json = nlohmann::ordered_json;

bool pattern_found(const std::string& pattern, const std::string& text) {
  static std::map<std::string, std::shared_ptr<pcre2_code>> cache;
  std::shared_ptr<pcre2_code>& code = cache[pattern];
  if (code == nullptr) {
    int error = 0;
    std::size_t offset = 0;
    code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                             PCRE2_UTF | PCRE2_DOLLAR_ENDONLY, &error, &offset, nullptr),
               pcre2_code_free);
  }
  pcre2_match_data* data = pcre2_match_data_create_from_pattern(code.get(), nullptr);
  const int found =
      pcre2_match(code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, 0, data, nullptr);
  pcre2_match_data_free(data);
  return found >= 0;
}

std::size_t characters(const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) next_code_point(text, at);
  return count;
}

class Validator {
 public:
  explicit Validator(const Json& document) : document_(document) {}

  bool check(const Json& value, const Json& schema) const {
    if (schema.is_boolean()) return schema.get<bool>();
    if (schema.contains("$ref")) {
      const std::string ref = schema["$ref"];
      if (!check(value, ref == "#" ? document_ : document_.at(Json::json_pointer(ref.substr(1)))))
        return false;
    }
    return check_type(value, schema) && check_values(value, schema) && check_combinations(value, schema) &&
           (!value.is_number() || check_number(value, schema)) &&
           (!value.is_string() || check_string(value.get<std::string>(), schema)) &&
           (!value.is_array() || check_array(value, schema)) &&
           (!value.is_object() || check_object(value, schema));
  }

 private:
  static bool is_type(const Json& value, const std::string& type) {
    if (type == "integer")
      return value.is_number_integer() ||
             (value.is_number() && value.get<double>() == std::floor(value.get<double>()));
    if (type == "number") return value.is_number();
    return type == value.type_name();
  }
  static bool check_type(const Json& value, const Json& schema) {
    if (!schema.contains("type")) return true;
    const Json& type = schema["type"];
    if (type.is_string()) return is_type(value, type);
    for (const Json& name : type)
      if (is_type(value, name)) return true;
    return false;
  }
  static bool check_values(const Json& value, const Json& schema) {
    if (schema.contains("const") && value != schema["const"]) return false;
    if (!schema.contains("enum")) return true;
    for (const Json& one : schema["enum"])
      if (value == one) return true;
    return false;
  }
  bool check_combinations(const Json& value, const Json& schema) const {
    const auto holding = [&](const char* keyword) {
      std::size_t count = 0;
      for (const Json& branch : schema[keyword]) count += check(value, branch) ? 1 : 0;
      return count;
    };
    if (schema.contains("allOf") && holding("allOf") != schema["allOf"].size()) return false;
    if (schema.contains("anyOf") && holding("anyOf") == 0) return false;
    return !schema.contains("oneOf") || holding("oneOf") == 1;
  }
  static bool check_number(const Json& value, const Json& schema) {
    const double number = value.get<double>();
    if (schema.contains("minimum") && number < schema["minimum"].get<double>()) return false;
    if (schema.contains("maximum") && number > schema["maximum"].get<double>()) return false;
    if (schema.contains("exclusiveMinimum") && number <= schema["exclusiveMinimum"].get<double>())
      return false;
    if (schema.contains("exclusiveMaximum") && number >= schema["exclusiveMaximum"].get<double>())
      return false;
    if (!schema.contains("multipleOf")) return true;
    const double quotient = number / schema["multipleOf"].get<double>();
    return std::abs(quotient - std::round(quotient)) <= 1e-9 * std::max(1.0, std::abs(quotient));
  }
  static bool check_string(const std::string& text, const Json& schema) {
    if (schema.contains("minLength") && characters(text) < schema["minLength"].get<std::size_t>())
      return false;
    if (schema.contains("maxLength") && characters(text) > schema["maxLength"].get<std::size_t>())
      return false;
    return !schema.contains("pattern") || pattern_found(schema["pattern"], text);
  }
  bool check_array(const Json& value, const Json& schema) const {
    if (schema.contains("minItems") && value.size() < schema["minItems"].get<std::size_t>()) return false;
    if (schema.contains("maxItems") && value.size() > schema["maxItems"].get<std::size_t>()) return false;
    const std::size_t prefix = schema.contains("prefixItems") ? schema["prefixItems"].size() : 0;
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i < prefix && !check(value[i], schema["prefixItems"][i])) return false;
      if (i >= prefix && schema.contains("items") && !check(value[i], schema["items"])) return false;
    }
    return true;
  }
  bool check_object(const Json& value, const Json& schema) const {
    if (schema.contains("minProperties") && value.size() < schema["minProperties"].get<std::size_t>())
      return false;
    if (schema.contains("maxProperties") && value.size() > schema["maxProperties"].get<std::size_t>())
      return false;
    if (schema.contains("required"))
      for (const Json& name : schema["required"])
        if (!value.contains(name.get<std::string>())) return false;
    for (auto it = value.begin(); it != value.end(); ++it) {
      if (schema.contains("propertyNames") && !check(Json(it.key()), schema["propertyNames"])) return false;
      bool known = false;
      if (schema.contains("properties") && schema["properties"].contains(it.key())) {
        known = true;
        if (!check(it.value(), schema["properties"][it.key()])) return false;
      }
      if (schema.contains("patternProperties"))
        for (auto p = schema["patternProperties"].begin(); p != schema["patternProperties"].end(); ++p) {
          if (!pattern_found(p.key(), it.key())) continue;
          known = true;
          if (!check(it.value(), p.value())) return false;
        }
      if (!known && schema.contains("additionalProperties") &&
          !check(it.value(), schema["additionalProperties"]))
        return false;
    }
    return true;
  }

  const Json& document_;
};

}  // namespace

bool satisfies(const nlohmann::ordered_json& value, const nlohmann::ordered_json& schema,
               const nlohmann::ordered_json& document) {
  return Validator(document).check(value, schema);
}

}  // namespace lanner::text::grammar::test
