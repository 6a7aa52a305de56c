// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "server/answer.h"
#include "server/json_body.h"

namespace lanner::server {

/// The ids of a response's items: they follow from the response's and the item's place.
class ItemIds {
 public:
  explicit ItemIds(std::string_view response_id) : tail_(response_id.substr(response_id.find('_') + 1)) {}
  std::string reasoning(std::size_t index) const { return id("rs_", index); }
  std::string message(std::size_t index) const { return id("msg_", index); }

 private:
  std::string id(const char* kind, std::size_t index) const {
    return kind + tail_ + (index > 0 ? '_' + std::to_string(index) : std::string());
  }

  std::string tail_;
};

/// Output items of the Responses API.
Json reasoning_item(const std::string& id, const std::string& text);
Json message_item(const std::string& id, const std::string& text, const Json& logprobs, const char* status);
Json text_part(const std::string& text, const Json& logprobs);
Json call_item(const AnswerCall& call, const char* status);

}  // namespace lanner::server
