// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/json_fields.h"

namespace lanner::server {

/// What an answer's content must look like.
struct OutputShape {
  enum class Kind : std::uint8_t {
    kFree,
    kJsonObject,  ///< any JSON object
    kJsonSchema,  ///< JSON by `schema`
    kRegex,       ///< text that `text` matches as a whole
    kChoices,     ///< one of `choices`
    kGbnf,        ///< text by the grammar `text`
    kLark,
  };
  Kind kind = Kind::kFree;
  Json schema = nullptr;
  std::string text = {};
  std::vector<std::string> choices = {};
  bool strict = false;     ///< a schema that cannot be enforced in full is refused
  std::string param = {};  ///< the field that asked for it

  bool is_free() const { return kind == Kind::kFree; }
};

/// response_format (OpenAI, and llama.cpp's `schema` directly below it) or structured_outputs (vLLM); both at
/// once are refused. Throws RequestError.
OutputShape read_output_shape(const JsonFields& fields);

/// {type: text | json_object | json_schema, ...}: response_format, or text.format of the Responses API, where
/// the parts of json_schema lie directly in it.
OutputShape read_response_format(const Json& format, const std::string& path);

}  // namespace lanner::server
