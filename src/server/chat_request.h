// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "server/generation_fields.h"
#include "server/output_shape.h"
#include "server/tool_choice.h"
#include "text/chat_template.h"

namespace lanner::server {

/// A conversation to answer, whichever API it came by.
struct ChatRequest {
  GenerationFields generation = {};
  text::ChatInput input = {};  ///< messages and tools in OpenAI form
  ToolChoice tool_choice = {};
  OutputShape shape = {};
  bool continues_last = false;  ///< the answer goes on with the last message
};

/// Reads the body of /v1/chat/completions. Throws RequestError.
ChatRequest read_chat_request(const Json& body, const RequestRules& rules);

/// Messages, tools and template variables, as /tokenize and /apply-template take them too.
text::ChatInput read_chat_input(const JsonFields& fields);

/// Checks messages in OpenAI form: roles, what each role holds, text parts only (this build has no encoders
/// for media). Throws RequestError naming the place.
void check_messages(const Json& messages, const std::string& path);

/// reasoning_effort: none switches thinking off, anything else on and goes to the template.
void apply_effort(const std::string& effort, text::ChatInput& input);

}  // namespace lanner::server
