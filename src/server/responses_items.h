// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "server/answer.h"
#include "server/json_body.h"

namespace lanner::server {

/// The ids of a response's items: they follow from the response's.
class ItemIds {
 public:
  explicit ItemIds(std::string_view response_id) : tail_(response_id.substr(response_id.find('_') + 1)) {}
  std::string reasoning() const { return "rs_" + tail_; }
  std::string message() const { return "msg_" + tail_; }

 private:
  std::string tail_;
};

/// Output items of the Responses API.
Json reasoning_item(const ItemIds& ids, const std::string& text);
Json message_item(const ItemIds& ids, const std::string& text, const Json& logprobs, const char* status);
Json text_part(const std::string& text, const Json& logprobs);
Json call_item(const AnswerCall& call, const char* status);

}  // namespace lanner::server
