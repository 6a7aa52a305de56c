// SPDX-License-Identifier: MIT
#include "server/responses_items.h"

namespace lanner::server {

Json reasoning_item(const std::string& id, const std::string& text) {
  return {{"type", "reasoning"},
          {"id", id},
          {"summary", Json::array()},
          {"content", Json::array({{{"type", "reasoning_text"}, {"text", text}}})}};
}

Json text_part(const std::string& text, const Json& logprobs) {
  return {{"type", "output_text"}, {"text", text}, {"annotations", Json::array()}, {"logprobs", logprobs}};
}

Json message_item(const std::string& id, const std::string& text, const Json& logprobs, const char* status) {
  return {{"type", "message"},
          {"id", id},
          {"role", "assistant"},
          {"status", status},
          {"content", Json::array({text_part(text, logprobs)})}};
}

Json call_item(const AnswerCall& call, const char* status) {
  return {{"type", "function_call"},     {"id", "fc_" + call.id.substr(call.id.find('_') + 1)},
          {"call_id", call.id},          {"name", call.name},
          {"arguments", call.arguments}, {"status", status}};
}

}  // namespace lanner::server
