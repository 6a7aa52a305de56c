// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "text/grammar/json_number.h"
#include "text/grammar/schema_document.h"

namespace lanner::text::grammar {

/// Schemas that all must hold. Pointers into one document (or to constants), in the order they were met.
using Conjunction = std::vector<const OrderedJson*>;

/// JSON types as bits. A number that is no integer is kNumber; "number" in a schema means both.
enum TypeBits : unsigned {
  kNull = 1,
  kBoolean = 2,
  kInteger = 4,
  kNumber = 8,
  kString = 16,
  kArray = 32,
  kObject = 64,
  kAnyType = 127,
};

/// What a conjunction without alternatives asks of a value.
struct SchemaFacts {
  unsigned types = kAnyType;
  bool says_types = false;  ///< A type, enum or const was given.
  bool unsatisfiable = false;
  std::optional<std::vector<const OrderedJson*>> values;  ///< Of enum and const.
  NumberRules numbers;
  std::uint32_t min_length = 0, max_length = kUnbounded;
  Conjunction patterns, formats;  ///< Schemas that have "pattern", "format".
  std::uint32_t min_items = 0, max_items = kUnbounded;
  Conjunction arrays;  ///< Schemas that speak of items.
  std::uint32_t min_properties = 0, max_properties = kUnbounded;
  Conjunction objects;                ///< Schemas that speak of properties.
  std::vector<std::string> required;  ///< A name may come twice.
  Conjunction property_names;
  bool closed = false;  ///< unevaluatedProperties is false.

  /// Nothing but types and values is asked.
  bool only_types() const;
  /// What copying it takes.
  std::size_t parts() const;
};

/// The alternatives (of anyOf and oneOf) that a conjunction has.
std::vector<SchemaFacts> expand(const SchemaDocument& document, const Conjunction& conjunction);

unsigned type_bits_of(const OrderedJson& value);

}  // namespace lanner::text::grammar
