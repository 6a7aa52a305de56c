// SPDX-License-Identifier: MIT
#include "text/grammar/schema_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_set>

namespace lanner::text::grammar {

namespace {

constexpr std::size_t kMaxAlternatives = 2000;

/// Schemas that lead to each other without a value between them: what follows them recurses.
constexpr std::size_t kMaxOpen = 500;

struct TypeName {
  const char* name;
  unsigned bits;
};
constexpr TypeName kTypes[] = {
    {"null", kNull},     {"boolean", kBoolean}, {"integer", kInteger}, {"number", kNumber | kInteger},
    {"string", kString}, {"array", kArray},     {"object", kObject}};

/// Keywords that cannot be enforced.
constexpr const char* kNotEnforced[] = {
    "not",      "if",           "dependentSchemas", "dependentRequired", "dependencies", "unevaluatedItems",
    "contains", "contentSchema"};

/// What comparing a value takes.
std::size_t parts_of(const OrderedJson& value) {
  std::size_t parts = 1;
  if (value.is_structured())
    for (const OrderedJson& child : value) parts += parts_of(child);
  return parts;
}

void add_once(Conjunction& conjunction, const OrderedJson& schema) {
  if (std::ranges::find(conjunction, &schema) == conjunction.end()) conjunction.push_back(&schema);
}

bool has_any(const OrderedJson& schema, std::initializer_list<const char*> keywords) {
  return std::ranges::any_of(keywords, [&](const char* keyword) { return schema.contains(keyword); });
}

class Expander {
 public:
  explicit Expander(const SchemaDocument& document) : document_(document) {}

  void add(std::vector<SchemaFacts>& alternatives, const OrderedJson& schema) {
    if (schema.is_boolean()) {
      if (!schema.get<bool>()) alternatives.clear();
      return;
    }
    if (!schema.is_object())
      document_.fail(schema, "",
                     fmt::format("is {}, expected a schema (an object or a boolean)", describe_json(schema)));
    if (std::ranges::find(open_, &schema) != open_.end())
      document_.fail(schema, schema.contains("$ref") ? "$ref" : "", "refers to itself without an end");
    document_.work().take(kPartWork + open_.size());
    if (applied_.contains(&schema)) return;
    if (open_.size() >= kMaxOpen)
      throw GrammarLimit(fmt::format("{}: more than {} schemas refer to each other without a value between",
                                     document_.place(schema), kMaxOpen));
    open_.push_back(&schema);
    for (SchemaFacts& facts : alternatives) add_keywords(facts, schema);
    std::erase_if(alternatives, [](const SchemaFacts& facts) { return facts.unsatisfiable; });
    if (schema.contains("$ref")) add(alternatives, document_.resolve(schema));
    if (schema.contains("$dynamicRef"))
      document_.fail(schema, "$dynamicRef", "is not supported", ErrorKind::kUnsupported);
    if (const OrderedJson* all = document_.find_array(schema, "allOf"))
      for (const OrderedJson& part : *all) add(alternatives, part);
    add_any(alternatives, schema, "anyOf");
    add_any(alternatives, schema, "oneOf");
    open_.pop_back();
    apply(schema);
  }

 private:
  void apply(const OrderedJson& schema) {
    if (applied_.insert(&schema).second) applied_order_.push_back(&schema);
  }
  /// Forgets what has been applied but for the first `count`.
  void forget_applied(std::size_t count) {
    for (; applied_order_.size() > count; applied_order_.pop_back()) applied_.erase(applied_order_.back());
  }

  std::vector<SchemaFacts> copy(const std::vector<SchemaFacts>& alternatives) {
    for (const SchemaFacts& facts : alternatives) document_.work().take(2 * kPartWork + facts.parts());
    return alternatives;
  }

  void add_any(std::vector<SchemaFacts>& alternatives, const OrderedJson& schema, const char* keyword) {
    const OrderedJson* branches = document_.find_array(schema, keyword);
    if (branches == nullptr) return;
    std::vector<SchemaFacts> result;
    std::vector<std::vector<SchemaFacts>> by_branch;
    for (const OrderedJson& branch : *branches) {
      const std::size_t applied = applied_order_.size();
      std::vector<SchemaFacts> with_branch = copy(alternatives);
      add(with_branch, branch);
      forget_applied(applied);
      std::ranges::copy(copy(with_branch), std::back_inserter(result));
      if (result.size() > kMaxAlternatives)
        throw GrammarLimit(fmt::format("{}: more than {} combinations of alternatives",
                                       document_.place(schema, keyword), kMaxAlternatives));
      by_branch.push_back(std::move(with_branch));
    }
    if (keyword == std::string_view("oneOf") && !disjoint(by_branch))
      document_.not_enforced(schema, keyword, "its alternatives may overlap, so it is taken for anyOf");
    alternatives = std::move(result);
  }

  /// Whether no value can satisfy two branches, as far as types, enums and constants of properties tell.
  bool disjoint(const std::vector<std::vector<SchemaFacts>>& branches) const {
    constexpr std::size_t kMaxCompared = 64;
    if (branches.size() > kMaxCompared) return false;
    for (std::size_t i = 0; i < branches.size(); ++i)
      for (std::size_t j = i + 1; j < branches.size(); ++j)
        for (const SchemaFacts& a : branches[i])
          for (const SchemaFacts& b : branches[j])
            if (!disjoint(a, b)) return false;
    return true;
  }

  bool disjoint(const SchemaFacts& a, const SchemaFacts& b) const {
    document_.work().take(kPartWork + (a.values ? a.values->size() : 1) * (b.values ? b.values->size() : 1));
    const unsigned common = a.types & b.types;
    if (common == 0) return true;
    if (a.values && b.values)
      return std::ranges::none_of(*a.values, [&](const OrderedJson* value) {
        return std::ranges::any_of(*b.values, [&](const OrderedJson* other) { return *value == *other; });
      });
    if (common != kObject) return false;
    // Objects with a required property that tells them apart.
    for (const std::string& name : a.required) {
      document_.work().take(1 + b.required.size());
      if (std::ranges::find(b.required, name) == b.required.end()) continue;
      const OrderedJson *in_a = constants(a, name), *in_b = constants(b, name);
      if (in_a == nullptr || in_b == nullptr) continue;
      const auto values = [](const OrderedJson& schema) {
        return schema.contains("const") ? OrderedJson::array({schema["const"]}) : schema["enum"];
      };
      const OrderedJson a_values = values(*in_a), b_values = values(*in_b);
      document_.work().take((1 + a_values.size()) * (1 + b_values.size()));
      if (std::none_of(a_values.begin(), a_values.end(), [&](const OrderedJson& value) {
            return std::find(b_values.begin(), b_values.end(), value) != b_values.end();
          }))
        return true;
    }
    return false;
  }

  /// The property's schema when it has an enum or a constant.
  const OrderedJson* constants(const SchemaFacts& facts, const std::string& name) const {
    for (const OrderedJson* object : facts.objects) {
      document_.work().take(object->size());
      const auto properties = object->find("properties");
      if (properties != object->end()) document_.work().take(1 + properties->size() / 4);
      if (properties == object->end() || !properties->contains(name)) continue;
      const OrderedJson& schema = (*properties)[name];
      if (schema.is_object() &&
          (schema.contains("const") || (schema.contains("enum") && schema["enum"].is_array())))
        return &schema;
    }
    return nullptr;
  }

  void add_keywords(SchemaFacts& facts, const OrderedJson& schema) {
    document_.work().take(2 * kPartWork + 4 * schema.size());
    add_types(facts, schema);
    add_values(facts, schema);
    add_numbers(facts, schema);
    add_strings(facts, schema);
    add_arrays(facts, schema);
    add_objects(facts, schema);
    for (const char* keyword : kNotEnforced)
      if (schema.contains(keyword)) document_.not_enforced(schema, keyword, "this keyword is not enforced");
    if (facts.types == 0) facts.unsatisfiable = true;
  }

  unsigned type_bits(const OrderedJson& schema, const OrderedJson& type) {
    for (const TypeName& known : kTypes)
      if (type == known.name) return known.bits;
    document_.fail(schema, "type",
                   fmt::format("is {}, expected the name of a JSON type", describe_json(type)));
  }

  void add_types(SchemaFacts& facts, const OrderedJson& schema) {
    const OrderedJson* type = document_.find(schema, "type");
    if (type == nullptr) return;
    facts.says_types = true;
    unsigned bits = 0;
    if (type->is_array())
      for (const OrderedJson& name : *type) bits |= type_bits(schema, name);
    else
      bits = type_bits(schema, *type);
    if (schema.contains("nullable") && schema["nullable"] == true) bits |= kNull;  // OpenAPI 3.0.
    facts.types &= bits;
  }

  void add_values(SchemaFacts& facts, const OrderedJson& schema) {
    const auto restrict_to = [&](const std::vector<const OrderedJson*>& values) {
      facts.says_types = true;
      if (!facts.values) {
        facts.values = values;
        return;
      }
      for (const OrderedJson* value : *facts.values) document_.work().take(parts_of(*value) * values.size());
      std::erase_if(*facts.values, [&](const OrderedJson* value) {
        return std::ranges::none_of(values, [&](const OrderedJson* other) { return *value == *other; });
      });
    };
    if (const OrderedJson* values = document_.find_array(schema, "enum")) {
      document_.work().take(values->size());
      std::vector<const OrderedJson*> pointers;
      for (const OrderedJson& value : *values) pointers.push_back(&value);
      restrict_to(pointers);
    }
    if (const OrderedJson* value = document_.find(schema, "const")) restrict_to({value});
  }

  std::optional<Decimal> decimal(const OrderedJson& schema, const char* keyword) {
    const OrderedJson* value = document_.find(schema, keyword);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number())
      document_.fail(schema, keyword, fmt::format("is {}, expected a number", describe_json(*value)));
    std::optional<Decimal> result = Decimal::parse(value->dump());
    if (!result)
      document_.fail(schema, keyword, fmt::format("{} has too many digits", describe_json(*value)),
                     ErrorKind::kUnsupported);
    return result;
  }

  static void raise(std::optional<Bound>& bound, const Bound& other, int direction) {
    const int order = bound ? direction * compare(other.value, bound->value) : 1;
    if (order > 0 || (order == 0 && other.exclusive)) bound = other;
  }

  void add_numbers(SchemaFacts& facts, const OrderedJson& schema) {
    NumberRules& rules = facts.numbers;
    // In draft 4 the exclusive keywords are booleans beside the bounds.
    const auto flag = [&](const char* keyword) {
      return schema.contains(keyword) && schema[keyword] == true;
    };
    const auto is_flag = [&](const char* keyword) {
      return schema.contains(keyword) && schema[keyword].is_boolean();
    };
    if (const auto value = decimal(schema, "minimum"))
      raise(rules.min, {*value, flag("exclusiveMinimum")}, 1);
    if (const auto value = decimal(schema, "maximum"))
      raise(rules.max, {*value, flag("exclusiveMaximum")}, -1);
    if (!is_flag("exclusiveMinimum"))
      if (const auto value = decimal(schema, "exclusiveMinimum")) raise(rules.min, {*value, true}, 1);
    if (!is_flag("exclusiveMaximum"))
      if (const auto value = decimal(schema, "exclusiveMaximum")) raise(rules.max, {*value, true}, -1);
    if (const auto value = decimal(schema, "multipleOf")) {
      if (value->negative || value->is_zero()) document_.fail(schema, "multipleOf", "must be above 0");
      if (std::ranges::find(rules.multiples_of, *value) == rules.multiples_of.end())
        rules.multiples_of.push_back(*value);
    }
  }

  void add_strings(SchemaFacts& facts, const OrderedJson& schema) {
    if (const auto min = document_.find_minimum_count(schema, "minLength"))
      facts.min_length = std::max(facts.min_length, *min);
    if (const auto max = document_.find_maximum_count(schema, "maxLength"))
      facts.max_length = std::min(facts.max_length, *max);
    if (document_.find_string(schema, "pattern") != nullptr) add_once(facts.patterns, schema);
    if (document_.find_string(schema, "format") != nullptr) add_once(facts.formats, schema);
  }

  void add_arrays(SchemaFacts& facts, const OrderedJson& schema) {
    if (const auto min = document_.find_minimum_count(schema, "minItems"))
      facts.min_items = std::max(facts.min_items, *min);
    if (const auto max = document_.find_maximum_count(schema, "maxItems"))
      facts.max_items = std::min(facts.max_items, *max);
    if (has_any(schema, {"items", "prefixItems", "additionalItems"})) add_once(facts.arrays, schema);
    if (schema.contains("uniqueItems") && schema["uniqueItems"] == true)
      document_.not_enforced(schema, "uniqueItems", "this keyword is not enforced");
  }

  void add_objects(SchemaFacts& facts, const OrderedJson& schema) {
    if (const auto min = document_.find_minimum_count(schema, "minProperties"))
      facts.min_properties = std::max(facts.min_properties, *min);
    if (const auto max = document_.find_maximum_count(schema, "maxProperties"))
      facts.max_properties = std::min(facts.max_properties, *max);
    if (const OrderedJson* required = document_.find_array(schema, "required"))
      for (const OrderedJson& name : *required) {
        document_.work().take(4);
        if (!name.is_string())
          document_.fail(schema, "required", fmt::format("holds {}, expected strings", describe_json(name)));
        facts.required.push_back(name.get<std::string>());
      }
    document_.find_object(schema, "properties");
    document_.find_object(schema, "patternProperties");
    if (has_any(schema, {"properties", "patternProperties", "additionalProperties"}))
      add_once(facts.objects, schema);
    if (const OrderedJson* names = document_.find(schema, "propertyNames"))
      add_once(facts.property_names, *names);
    if (const OrderedJson* value = document_.find(schema, "unevaluatedProperties")) {
      if (*value == false)
        facts.closed = true;
      else
        document_.not_enforced(schema, "unevaluatedProperties", "only false is enforced");
    }
  }

  const SchemaDocument& document_;
  std::vector<const OrderedJson*> open_;
  /// Schemas that all alternatives satisfy already, in the order in which they came: asking twice adds
  /// nothing.
  std::unordered_set<const OrderedJson*> applied_;
  std::vector<const OrderedJson*> applied_order_;
};

/// What a schema without any type is about, by its keywords.
unsigned implied_types(const SchemaFacts& facts) {
  unsigned bits = 0;
  if (!facts.objects.empty() || !facts.required.empty() || !facts.property_names.empty() || facts.closed ||
      facts.min_properties > 0 || facts.max_properties != kUnbounded)
    bits |= kObject;
  if (!facts.arrays.empty() || facts.min_items > 0 || facts.max_items != kUnbounded) bits |= kArray;
  if (!facts.patterns.empty() || !facts.formats.empty() || facts.min_length > 0 ||
      facts.max_length != kUnbounded)
    bits |= kString;
  if (!facts.numbers.empty()) bits |= kNumber | kInteger;
  return bits == 0 ? unsigned{kAnyType} : bits;
}

}  // namespace

std::size_t SchemaFacts::parts() const {
  return (values ? values->size() / 4 : 0) + 4 * required.size() + patterns.size() + formats.size() +
         arrays.size() + objects.size() + property_names.size() + 4 * numbers.multiples_of.size();
}

bool SchemaFacts::only_types() const { return implied_types(*this) == kAnyType; }

unsigned type_bits_of(const OrderedJson& value) {
  if (value.is_null()) return kNull;
  if (value.is_boolean()) return kBoolean;
  if (value.is_number_integer()) return kInteger;
  if (value.is_number()) {
    const double number = value.get<double>();
    return number == static_cast<double>(static_cast<std::int64_t>(number)) ? kInteger : kNumber;
  }
  if (value.is_string()) return kString;
  return value.is_array() ? kArray : kObject;
}

std::vector<SchemaFacts> expand(const SchemaDocument& document, const Conjunction& conjunction) {
  std::vector<SchemaFacts> alternatives(1);
  Expander expander(document);
  for (const OrderedJson* schema : conjunction) expander.add(alternatives, *schema);
  for (SchemaFacts& facts : alternatives)
    if (!facts.says_types) facts.types &= implied_types(facts);
  return alternatives;
}

}  // namespace lanner::text::grammar
