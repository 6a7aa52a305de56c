// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/json_fields.h"

namespace lanner::server {

/// Whether and which tools an answer may call.
struct ToolChoice {
  enum class Use : std::uint8_t { kAuto, kNone, kRequired };
  Use use = Use::kAuto;
  std::vector<std::string> names = {};  ///< only these; empty = all
  bool parallel = true;                 ///< more than one call
};

/// Checks `tools` in OpenAI form: names `[A-Za-z0-9_.-]{1,64}`, unique, parameters objects. Null when there
/// are none. Throws RequestError.
Json read_tools(const JsonFields& fields);

/// tool_choice and parallel_tool_calls in OpenAI form. Throws RequestError.
ToolChoice read_tool_choice(const JsonFields& fields, const Json& tools);

/// RequestError unless every name is one of `tools`.
void check_tool_names(const std::vector<std::string>& names, const Json& tools, const std::string& param);
void check_tool_name(const std::string& name, const std::string& param);

/// The tools a model is told about: those of an allowed list, none for kNone.
Json visible_tools(const Json& tools, const ToolChoice& choice);

}  // namespace lanner::server
