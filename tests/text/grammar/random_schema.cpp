// SPDX-License-Identifier: MIT
#include "text/grammar/random_schema.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace lanner::text::grammar::test {

namespace {

using Json = nlohmann::ordered_json;

struct PatternSample {
  const char* pattern;
  std::vector<std::string> matches;
};
const std::vector<PatternSample>& patterns() {
  static const std::vector<PatternSample> kPatterns = {
      {"^[a-z]{2,5}$", {"ab", "hello"}},
      {"ab+", {"ab", "xx abbb \"quoted\"", "a\\ab"}},
      {"^(foo|ba[rz])-\\d+", {"foo-1", "baz-42 and more"}},
      {"\\.txt$|^$", {"", "a.txt", "\u00e9.txt"}},
      {"^[^\"]*$", {"", "plain", "line\nbreak\t\\"}},
  };
  return kPatterns;
}

std::string name(Dice& dice) {
  static const char* const kNames[] = {
      "a", "name", "x y", "n\"q", "\u00fcber", "id", "back\\slash", "longer_name_here", ""};
  return kNames[dice.roll(std::size(kNames))];
}

class SchemaMaker {
 public:
  explicit SchemaMaker(Dice& dice) : dice_(dice) {}

  Json schema(int depth) {
    switch (dice_.roll(depth <= 0 ? 6 : 11)) {
      case 0:
        return integer();
      case 1:
        return number();
      case 2:
      case 3:
        return string();
      case 4:
        return dice_.chance(50) ? Json{{"type", "boolean"}}
                                : Json{{"type", Json::array({"null", "boolean"})}};
      case 5:
        return constants();
      case 6:
        return array(depth);
      case 7:
        return combination(depth);
      case 8:
        return dice_.chance(30) ? Json{{"$ref", "#"}} : Json{{"$ref", "#/$defs/shared"}};
      default:
        return object(depth);
    }
  }

  Json object(int depth) {
    Json result{{"type", "object"}};
    Json properties = Json::object(), required = Json::array();
    for (std::uint32_t i = dice_.roll(5); i > 0; --i) properties[name(dice_)] = schema(depth - 1);
    for (auto it = properties.begin(); it != properties.end(); ++it)
      if (it.value().contains("$ref") && it.value()["$ref"] == "#" ? false : dice_.chance(60))
        required.push_back(it.key());
    if (!properties.empty()) result["properties"] = properties;
    if (!required.empty()) result["required"] = required;
    const std::uint32_t extra = dice_.roll(5);
    if (extra < 2) result["additionalProperties"] = false;
    if (extra == 2) result["additionalProperties"] = Json{{"type", "integer"}};
    if (extra == 3) result["patternProperties"] = Json{{"^p_", Json{{"type", "boolean"}}}};
    if (dice_.chance(15)) result["maxProperties"] = required.size() + dice_.roll(3);
    if (dice_.chance(15)) {
      const std::size_t most =
          result.contains("maxProperties") ? result["maxProperties"].get<std::size_t>() : 99;
      result["minProperties"] = std::min({required.size() + dice_.roll(2), properties.size(), most});
    }
    if (dice_.chance(10)) result["propertyNames"] = Json{{"maxLength", 20}};
    return result;
  }

 private:
  Json integer() {
    Json result{{"type", "integer"}};
    const int low = static_cast<int>(dice_.roll(3000)) - 1500;
    if (dice_.chance(50)) result[dice_.chance(70) ? "minimum" : "exclusiveMinimum"] = low;
    if (dice_.chance(50))
      result[dice_.chance(70) ? "maximum" : "exclusiveMaximum"] =
          low + 60 + static_cast<int>(dice_.roll(400));
    if (dice_.chance(25)) result["multipleOf"] = 1 + dice_.roll(17);
    return result;
  }
  Json number() {
    Json result{{"type", "number"}};
    const double low = (static_cast<int>(dice_.roll(4000)) - 2000) / 8.0;
    if (dice_.chance(50)) result[dice_.chance(70) ? "minimum" : "exclusiveMinimum"] = low;
    if (dice_.chance(50))
      result[dice_.chance(70) ? "maximum" : "exclusiveMaximum"] = low + 20 + dice_.roll(90) / 4.0;
    if (dice_.chance(25)) result["multipleOf"] = dice_.chance(50) ? 0.25 : 0.1;
    return result;
  }
  Json string() {
    Json result{{"type", "string"}};
    if (dice_.chance(30)) {
      result["pattern"] = patterns()[dice_.roll(static_cast<std::uint32_t>(patterns().size()))].pattern;
      if (dice_.chance(30)) result["maxLength"] = 40;
      return result;
    }
    if (dice_.chance(30)) result["minLength"] = dice_.roll(6);
    if (dice_.chance(30)) result["maxLength"] = 6 + dice_.roll(30);
    return result;
  }
  Json constants() {
    static const std::vector<Json> kValues = {
        "red", "re\"d\n", 1, -2.5, nullptr, true, Json::array({1, "a"}), Json{{"k", false}}, ""};
    if (dice_.chance(30))
      return Json{{"const", kValues[dice_.roll(static_cast<std::uint32_t>(kValues.size()))]}};
    Json values = Json::array();
    for (std::uint32_t i = 1 + dice_.roll(4); i > 0; --i) {
      const Json& value = kValues[dice_.roll(static_cast<std::uint32_t>(kValues.size()))];
      if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
    }
    return Json{{"enum", values}};
  }
  Json array(int depth) {
    Json result{{"type", "array"}};
    if (dice_.chance(30)) {
      result["prefixItems"] = Json::array();
      for (std::uint32_t i = 1 + dice_.roll(3); i > 0; --i)
        result["prefixItems"].push_back(schema(depth - 1));
    }
    result["items"] = schema(depth - 1);
    if (result["items"].contains("$ref") && dice_.chance(50)) return result;
    if (dice_.chance(30) && !result["items"].contains("$ref")) result["minItems"] = dice_.roll(4);
    if (dice_.chance(30)) result["maxItems"] = 3 + dice_.roll(3);
    return result;
  }
  Json combination(int depth) {
    switch (dice_.roll(3)) {
      case 0:
        return Json{{"anyOf", Json::array({schema(depth - 1), schema(depth - 1)})}};
      case 1:
        return Json{{"oneOf", Json::array({string(), integer(), Json{{"type", "null"}}})}};
      default: {
        Json result{{"type", "object"},
                    {"properties", Json{{"base", schema(depth - 2)}}},
                    {"required", Json::array({"base"})}};
        return Json{
            {"allOf", Json::array({result, Json{{"type", "object"},
                                                {"properties", Json{{"more", schema(depth - 2)}}}}})}};
      }
    }
  }

  Dice& dice_;
};

class InstanceMaker {
 public:
  InstanceMaker(Dice& dice, const Json& document) : dice_(dice), document_(document) {}

  Json make(const Json& schema, int depth) {
    if (depth > 12) return nullptr;  // Too deep into a schema that holds itself: no instance this time.
    if (schema.contains("$ref")) {
      const std::string ref = schema["$ref"];
      return make(ref == "#" ? document_ : document_.at(Json::json_pointer(ref.substr(1))), depth + 1);
    }
    if (schema.contains("const")) return schema["const"];
    for (const char* keyword : {"enum", "anyOf", "oneOf"})
      if (schema.contains(keyword)) {
        const Json& one = schema[keyword][dice_.roll(static_cast<std::uint32_t>(schema[keyword].size()))];
        return keyword == std::string("enum") ? one : make(one, depth + 1);
      }
    if (schema.contains("allOf")) {
      Json result = Json::object();
      for (const Json& part : schema["allOf"])
        for (auto it = part["properties"].begin(); it != part["properties"].end(); ++it)
          result[it.key()] = make(it.value(), depth + 1);
      return result;
    }
    const Json& type = schema["type"];
    if (type.is_array()) return dice_.chance(50) ? Json(nullptr) : Json(true);
    if (type == "boolean") return dice_.chance(50);
    if (type == "integer" || type == "number") return number(schema);
    if (type == "string") return string(schema);
    return type == "array" ? array(schema, depth) : object(schema, depth);
  }

 private:
  Json number(const Json& schema) {
    const bool whole = schema["type"] == "integer";
    const double step = schema.value("multipleOf", whole ? 1.0 : 0.125);
    double low = -300, high = 3000;
    bool low_open = schema.contains("exclusiveMinimum"), high_open = schema.contains("exclusiveMaximum");
    if (schema.contains("minimum")) low = schema["minimum"];
    if (low_open) low = schema["exclusiveMinimum"];
    if (schema.contains("maximum")) high = schema["maximum"];
    if (high_open) high = schema["exclusiveMaximum"];
    if (!schema.contains("minimum") && !low_open) low = std::min(low, high - 100);
    if (!schema.contains("maximum") && !high_open) high = std::max(high, low + 100);
    const double first = std::ceil(low / step) + (low_open ? 1 : 0),
                 last = std::floor(high / step) - (high_open ? 1 : 0);
    const double index = first + dice_.roll(static_cast<std::uint32_t>(last - first) + 1);
    if (whole) return static_cast<std::int64_t>(index * step);
    return step == 0.1 ? index / 10 : index * step;
  }
  Json string(const Json& schema) {
    if (schema.contains("pattern"))
      for (const PatternSample& sample : patterns())
        if (schema["pattern"] == sample.pattern)
          return sample.matches[dice_.roll(static_cast<std::uint32_t>(sample.matches.size()))];
    static const char* const kPieces[] = {"a",      "Z",          " ", "\"", "\\",   "\n",
                                          "\u00e9", "\U0001F600", "/", "0",  "\x01", "\x7F"};
    const std::uint32_t min = schema.value("minLength", 0U), max = schema.value("maxLength", 20U);
    std::string text;
    for (std::uint32_t i = min + dice_.roll(max - min + 1); i > 0; --i)
      text += kPieces[dice_.roll(std::size(kPieces))];
    return text;
  }
  Json array(const Json& schema, int depth) {
    Json result = Json::array();
    const std::uint32_t min = schema.value("minItems", 0U),
                        max = std::min(schema.value("maxItems", 4U), min + 4);
    const std::uint32_t count = depth > 5 ? min : min + dice_.roll(max - min + 1);
    const std::size_t prefix = schema.contains("prefixItems") ? schema["prefixItems"].size() : 0;
    for (std::uint32_t i = 0; i < count; ++i)
      result.push_back(make(i < prefix ? schema["prefixItems"][i] : schema["items"], depth + 1));
    return result;
  }
  Json object(const Json& schema, int depth) {
    const Json properties = schema.value("properties", Json::object()),
               required = schema.value("required", Json::array());
    const std::size_t min = schema.value("minProperties", std::size_t{0}),
                      max = schema.value("maxProperties", std::size_t{99});
    Json result = Json::object();
    std::size_t still_required = required.size();
    std::size_t left = properties.size();
    for (auto it = properties.begin(); it != properties.end(); ++it, --left) {
      const bool needed = std::find(required.begin(), required.end(), Json(it.key())) != required.end();
      const bool room = result.size() + still_required < max;
      const bool must = needed || (result.size() + left <= min && room);
      if (needed) --still_required;
      if (must || (room && depth <= 5 && dice_.chance(50))) result[it.key()] = make(it.value(), depth + 1);
    }
    const Json additional = schema.value("additionalProperties", Json(true));
    if (additional == false || result.size() >= max || depth > 5 || !dice_.chance(50)) return result;
    if (additional.is_object())
      result["extra \u00e9"] = make(additional, depth + 1);
    else if (schema.contains("patternProperties"))
      result["p_1"] = true;
    else
      result["any"] = Json{{"deep", Json::array({1.5e-7, "x", nullptr, Json::object()})}};
    return result;
  }

  Dice& dice_;
  const Json& document_;
};

}  // namespace

nlohmann::ordered_json random_schema(Dice& dice) {
  SchemaMaker maker(dice);
  Json result = maker.object(3);
  Json shared = maker.schema(0);
  result["$defs"] = Json{{"shared", shared}};
  return result;
}

nlohmann::ordered_json random_instance(Dice& dice, const nlohmann::ordered_json& schema,
                                       const nlohmann::ordered_json& document) {
  return InstanceMaker(dice, document).make(schema, 0);
}

}  // namespace lanner::text::grammar::test
