// SPDX-License-Identifier: MIT
#include "text/grammar/schema_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

namespace lanner::text::grammar {

namespace {

constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxProperties = 5000, kMaxEnumValues = 10'000, kMaxParts = 400'000;
constexpr std::size_t kMaxBytes = std::size_t{4} << 20;
constexpr std::uint64_t kMaxCount = 100'000;

std::string pointer_token(std::string_view key) {
  std::string token;
  for (const char c : key) {
    if (c == '~')
      token += "~0";
    else if (c == '/')
      token += "~1";
    else
      token += c;
  }
  return token;
}

/// Undoes %41 in the fragment of a reference.
std::string percent_decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto hex = [&](std::size_t at) {
      const char c = at < text.size() ? text[at] : '\0';
      if (c >= '0' && c <= '9') return c - '0';
      const char lower = static_cast<char>(c | 0x20);
      return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
    };
    if (text[i] == '%' && hex(i + 1) >= 0 && hex(i + 2) >= 0) {
      result += static_cast<char>(hex(i + 1) * 16 + hex(i + 2));
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace

std::string describe_json(const OrderedJson& value) {
  if (value.is_array()) return "an array";
  if (value.is_object()) return "an object";
  std::string text = value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

SchemaDocument::SchemaDocument(const OrderedJson& root, const JsonSchemaOptions& options,
                               std::vector<std::string>* warnings, Work& work)
    : root_(root), options_(options), warnings_(warnings), work_(work) {
  check(root, 0);
  if (options.mode != SchemaMode::kStrict) return;
  if (!root.is_object()) fail(root, "", "a strict schema must be an object of type \"object\"");
  const OrderedJson* type = find(root, "type");
  if (root.contains("anyOf")) fail(root, "anyOf", "not allowed at the root of a strict schema");
  if (!root.contains("$ref") && (type == nullptr || *type != "object"))
    fail(root, "type", "the root of a strict schema must have type \"object\"");
  check_strict(root);
}

void SchemaDocument::check(const OrderedJson& part, int depth) {
  const auto too_large = [&](std::string_view what) {
    throw GrammarLimit(fmt::format("{}: {}", options_.name, what));
  };
  if (depth > kMaxDepth) too_large(fmt::format("nests deeper than {} levels", kMaxDepth));
  if (++parts_ > kMaxParts) too_large("too large");
  if (part.is_object()) {
    for (auto it = part.begin(); it != part.end(); ++it) {
      if (it.key() == "properties" && it.value().is_object()) properties_ += it.value().size();
      if (it.key() == "enum" && it.value().is_array()) enum_values_ += it.value().size();
    }
    if (properties_ > kMaxProperties) too_large(fmt::format("more than {} properties", kMaxProperties));
    if (enum_values_ > kMaxEnumValues) too_large(fmt::format("more than {} enum values", kMaxEnumValues));
  }
  work_.take(kPartWork);
  if (part.is_string()) bytes_ += part.get_ref<const std::string&>().size();
  note_anchors(part);
  std::size_t index = 0;
  if (part.is_structured())
    for (auto it = part.begin(); it != part.end(); ++it) {
      if (part.is_object()) bytes_ += it.key().size();
      places_.emplace(&*it, Place{&part, index++});
      check(*it, depth + 1);
    }
  if (bytes_ > kMaxBytes) too_large(fmt::format("more than {} bytes of names and texts", kMaxBytes));
}

void SchemaDocument::note_anchors(const OrderedJson& part) {
  if (!part.is_object()) return;
  for (const char* keyword : {"$anchor", "$id", "id"})
    if (const auto it = part.find(keyword); it != part.end() && it->is_string()) {
      const std::string& name = it->get_ref<const std::string&>();
      if (name.empty()) continue;
      anchors_.emplace(name, &part);
      if (keyword == std::string_view("$anchor")) anchors_.emplace("#" + name, &part);
    }
}

void SchemaDocument::check_strict(const OrderedJson& part) const {
  if (part.is_array())
    for (const OrderedJson& child : part) check_strict(child);
  if (!part.is_object()) return;
  work_.take(part.size());
  const OrderedJson* properties = part.contains("properties") && part["properties"].is_object() &&
                                          (part.contains("type") || part.contains("additionalProperties"))
                                      ? &part["properties"]
                                      : nullptr;
  if (properties != nullptr) {
    if (!part.contains("additionalProperties") || part["additionalProperties"] != false)
      fail(part, "additionalProperties", "must be false in a strict schema");
    std::set<std::string_view> required;
    if (const OrderedJson* names = find(part, "required"))
      for (const OrderedJson& name : *names)
        if (name.is_string()) required.insert(name.get_ref<const std::string&>());
    for (auto it = properties->begin(); it != properties->end(); ++it)
      if (!required.contains(it.key()))
        fail(part, "required",
             fmt::format("must name every property in a strict schema; \"{}\" is missing", it.key()));
  }
  for (auto it = part.begin(); it != part.end(); ++it)
    if (it.key() != "enum" && it.key() != "const" && it.key() != "default" && it.key() != "examples")
      check_strict(it.value());
}

const OrderedJson& SchemaDocument::resolve(const OrderedJson& schema) const {
  const std::string& reference = *find_string(schema, "$ref");
  if (reference == "#") return root_;
  if (reference.starts_with("#/")) {
    const auto [known, added] = pointers_.try_emplace(reference, nullptr);
    if (!added && known->second != nullptr) return *known->second;
    const std::string pointer = percent_decoded(std::string_view(reference).substr(1));
    work_.take(pointer.size() + parts_ / 8);  // Members are looked for one after another.
    try {
      return *(known->second = &root_.at(OrderedJson::json_pointer(pointer)));
    } catch (const OrderedJson::exception&) {
      fail(schema, "$ref", fmt::format("\"{}\" leads to nothing in the schema", reference));
    }
  }
  if (const auto found = anchors_.find(reference); found != anchors_.end()) return *found->second;
  fail(schema, "$ref",
       fmt::format("\"{}\" is not in this schema; references to other documents are not followed", reference),
       ErrorKind::kUnsupported);
}

const OrderedJson* SchemaDocument::find(const OrderedJson& schema, const char* keyword) const {
  const auto it = schema.find(keyword);
  return it == schema.end() ? nullptr : &*it;
}

const OrderedJson* SchemaDocument::find_array(const OrderedJson& schema, const char* keyword) const {
  const OrderedJson* value = find(schema, keyword);
  if (value != nullptr && !value->is_array())
    fail(schema, keyword, fmt::format("is {}, expected an array", describe_json(*value)));
  return value;
}

const OrderedJson* SchemaDocument::find_object(const OrderedJson& schema, const char* keyword) const {
  const OrderedJson* value = find(schema, keyword);
  if (value != nullptr && !value->is_object())
    fail(schema, keyword, fmt::format("is {}, expected an object", describe_json(*value)));
  return value;
}

const std::string* SchemaDocument::find_string(const OrderedJson& schema, const char* keyword) const {
  const OrderedJson* value = find(schema, keyword);
  if (value == nullptr) return nullptr;
  if (!value->is_string())
    fail(schema, keyword, fmt::format("is {}, expected a string", describe_json(*value)));
  return &value->get_ref<const std::string&>();
}

std::uint64_t SchemaDocument::count(const OrderedJson& schema, const char* keyword,
                                    const OrderedJson& value) const {
  if (value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0))
    return value.get<std::uint64_t>();
  if (value.is_number_float() && value.get<double>() >= 0 &&
      value.get<double>() == std::floor(value.get<double>()))
    return value.get<double>() >= 1e18 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(value.get<double>());
  fail(schema, keyword, fmt::format("is {}, expected a whole number >= 0", describe_json(value)));
}

std::optional<std::uint32_t> SchemaDocument::find_minimum_count(const OrderedJson& schema,
                                                                const char* keyword) const {
  const OrderedJson* value = find(schema, keyword);
  if (value == nullptr) return std::nullopt;
  const std::uint64_t number = count(schema, keyword, *value);
  if (number > kMaxCount)
    fail(schema, keyword, fmt::format("is {}, more than the {} supported", number, kMaxCount));
  return static_cast<std::uint32_t>(number);
}

std::optional<std::uint32_t> SchemaDocument::find_maximum_count(const OrderedJson& schema,
                                                                const char* keyword) const {
  const OrderedJson* value = find(schema, keyword);
  if (value == nullptr) return std::nullopt;
  const std::uint64_t number = count(schema, keyword, *value);
  // No answer is that long.
  return number > kMaxCount ? std::nullopt : std::optional(static_cast<std::uint32_t>(number));
}

std::string SchemaDocument::place(const OrderedJson& part) const {
  std::vector<std::string> tokens;
  for (auto at = places_.find(&part); at != places_.end(); at = places_.find(at->second.parent)) {
    const auto& [parent, index] = at->second;
    tokens.push_back(
        parent->is_array()
            ? std::to_string(index)
            : pointer_token(std::next(parent->begin(), static_cast<std::ptrdiff_t>(index)).key()));
  }
  std::string result = options_.name + "#";
  std::ranges::reverse(tokens);
  for (const std::string& token : tokens) result += "/" + token;
  work_.take(kPartWork + result.size());
  return result;
}

std::string SchemaDocument::place(const OrderedJson& schema, std::string_view keyword) const {
  return keyword.empty() ? place(schema) : fmt::format("{}/{}", place(schema), pointer_token(keyword));
}

void SchemaDocument::fail(const OrderedJson& schema, std::string_view keyword, std::string_view complaint,
                          ErrorKind kind) const {
  throw Error(kind, fmt::format("{}: {}", place(schema, keyword), complaint));
}

void SchemaDocument::not_enforced(const OrderedJson& schema, std::string_view keyword,
                                  std::string_view reason) const {
  if (options_.mode == SchemaMode::kStrict) fail(schema, keyword, reason, ErrorKind::kUnsupported);
  if (warnings_ == nullptr) return;
  work_.take(warnings_->size());
  const std::string warning = fmt::format("{}: {}; ignored", place(schema, keyword), reason);
  if (std::ranges::find(*warnings_, warning) == warnings_->end()) warnings_->push_back(warning);
}

}  // namespace lanner::text::grammar
