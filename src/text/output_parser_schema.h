// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lanner::text {

/// What a JSON schema says about the type of one value, its references, combinations and constants included.
/// Never fewer types than it allows. A view: the schema must outlive it.
class ValueSchema {
 public:
  enum Type : std::uint8_t {
    kString = 1,
    kInteger = 2,
    kNumber = 4,
    kBoolean = 8,
    kObject = 16,
    kArray = 32,
    kNull = 64,
  };

  /// Nothing known.
  ValueSchema() = default;
  explicit ValueSchema(const nlohmann::ordered_json* schema)
      : ValueSchema(schema, schema == nullptr ? Schemas{} : Schemas{schema}) {}

  ValueSchema property(std::string_view name) const;
  ValueSchema element() const;
  /// The allowed types (a set of Type bits); 0 when the schema does not say.
  unsigned types() const { return types_; }
  /// A string whatever the text: its pieces can be passed on at once.
  bool is_string_only() const { return types_ == kString; }

 private:
  using Schemas = std::vector<const nlohmann::ordered_json*>;
  ValueSchema(const nlohmann::ordered_json* root, Schemas schemas);
  std::optional<Schemas> parts() const;

  const nlohmann::ordered_json* root_ = nullptr;
  Schemas schemas_;  ///< Each may be the one that counts.
  unsigned types_ = 0;
};

/// How text that no schema describes is read.
enum class Untyped : std::uint8_t {
  kAnyLiteral,         ///< As JSON if it is JSON (or Python's None, True, False), else as a string.
  kLiteralButStrings,  ///< As JSON if it is JSON and not a string, else as a string.
};

/// The JSON of a value that a model wrote as plain text: coerced to the schema's types where it parses
/// exactly, otherwise a string.
std::string coerce_to_json(std::string_view text, const ValueSchema& schema, Untyped untyped);

/// Whether the text is one JSON value.
bool is_json(std::string_view text);

/// `text` inside a JSON string, without the quotes.
std::string json_escaped(std::string_view text);
std::string json_string(std::string_view text);

/// A Python literal (dict, list, tuple, string, number, True, False, None) as JSON; empty when it is none.
std::string json_from_python_literal(std::string_view text);

}  // namespace lanner::text
