// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "engine/answer_constraint.h"
#include "server/json_fields.h"

namespace lanner::server {

/// What an answer's content must look like, and the field that asked for it.
struct OutputShape : engine::AnswerShape {
  std::string param = {};
};

/// response_format (OpenAI, and llama.cpp's `schema` directly below it) or structured_outputs (vLLM); both at
/// once are refused. Throws RequestError.
OutputShape read_output_shape(const JsonFields& fields);

/// {type: text | json_object | json_schema, ...}: response_format, or text.format of the Responses API, where
/// the parts of json_schema lie directly in it.
OutputShape read_response_format(const Json& format, const std::string& path);

}  // namespace lanner::server
