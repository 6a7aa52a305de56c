// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/grammar_source.h"
#include "text/grammar/json_text.h"

namespace lanner::text::grammar {

/// What happens to keywords that cannot be enforced.
enum class SchemaMode : std::uint8_t {
  kLenient,  ///< They are ignored with a warning. Objects may have more properties unless the schema forbids.
  /// They are errors. As in OpenAI's strict mode the root is an object, every object forbids additional
  /// properties and requires all it has.
  kStrict,
};

/// Whether objects whose schema declares properties may have others.
enum class OpenObjects : std::uint8_t { kAllowed, kForbidden };

struct JsonSchemaOptions {
  SchemaMode mode = SchemaMode::kLenient;
  JsonSpelling spelling = {};
  /// What a schema that does not say allows: as the standard says, or only the properties it declares (which
  /// tools mean, and which strict mode asks for anyway).
  OpenObjects open_objects = OpenObjects::kAllowed;
  /// Names the schema in errors and stands before their JSON pointers.
  std::string name = "schema";
};

/// Writes the JSON texts that satisfy a JSON Schema (draft 2020-12), as far as docs/structured_output.md
/// says. Objects come with their properties in the schema's order. Appends to `warnings` what is not
/// enforced. Errors name the JSON pointer, as in `schema#/properties/a/pattern: …`: kInvalidArgument for what
/// is no schema or allows nothing, kUnsupported.
GrammarSource json_schema_grammar(const nlohmann::ordered_json& schema, const JsonSchemaOptions& options = {},
                                  std::vector<std::string>* warnings = nullptr);

/// The same as a part of another grammar. `depth`: how many levels of JSON surround it.
ExprId json_schema_value(GrammarSource& source, const nlohmann::ordered_json& schema,
                         const JsonSchemaOptions& options, int depth,
                         std::vector<std::string>* warnings = nullptr);

/// Any JSON object.
GrammarSource json_object_grammar(JsonWhitespace whitespace = JsonWhitespace::kFlexible);

}  // namespace lanner::text::grammar
