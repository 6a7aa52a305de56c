// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "server/chat_request.h"

namespace lanner::server {

/// A request of OpenAI's Responses API.
struct ResponsesRequest {
  ChatRequest chat = {};       ///< messages: instructions, the earlier conversation, the input
  Json items = Json::array();  ///< the conversation without instructions, in OpenAI's chat form
  Json echo = Json::object();  ///< fields that the response repeats
  bool store = true;
};

/// The id whose conversation the body continues.
std::optional<std::string> previous_response(const Json& body);

/// `history`: the messages of the earlier conversation, empty for none. Throws RequestError.
ResponsesRequest read_responses_request(const Json& body, const RequestRules& rules, const Json& history);

/// Appends what one input item is in chat form. Throws RequestError.
void append_item(const Json& json, const std::string& path, Json& messages);

}  // namespace lanner::server
