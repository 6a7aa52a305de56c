// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "server/json_fields.h"

namespace lanner::server {

/// Appends what one message of Anthropic's API is in OpenAI form: tool results become messages of their own,
/// in order, before the text that came with them. Throws RequestError.
void append_message(const Json& json, const std::string& path, Json& messages);

}  // namespace lanner::server
