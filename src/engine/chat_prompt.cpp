// SPDX-License-Identifier: MIT
#include "engine/chat_prompt.h"

#include <algorithm>
#include <string>

#include "core/error.h"

namespace lanner::engine {
namespace {

using Json = nlohmann::ordered_json;

std::string role(const Json& message) {
  return message.is_object() && message.contains("role") && message["role"].is_string()
             ? message["role"].get<std::string>()
             : std::string();
}

/// Tokens that `ids` shares with another rendering; 0 when the template refuses it.
std::size_t shared_tokens(const TextParts& text, const text::ChatInput& other,
                          const std::vector<TokenId>& ids) {
  try {
    const std::vector<TokenId> others = text.encode_chat(other);
    return static_cast<std::size_t>(std::ranges::mismatch(ids, others).in1 - ids.begin());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInvalidArgument) throw;
    return 0;
  }
}

}  // namespace

ChatPrompt encode_chat_prompt(const TextParts& text, const text::ChatInput& input) {
  ChatPrompt prompt{.ids = text.encode_chat(input), .checkpoints = {}};
  const Json& messages = input.messages;
  text::ChatInput part = input;
  part.messages = Json::array();
  std::size_t leading = 0;
  while (leading < messages.size() &&
         (role(messages[leading]) == "system" || role(messages[leading]) == "developer"))
    part.messages.push_back(messages[leading++]);
  // Templates want a question: one that no real one begins like.
  part.messages.push_back({{"role", "user"}, {"content", "\xEF\xBF\xBD"}});
  std::size_t system_end = 0;
  if (leading > 0 || !input.tools.is_null()) system_end = shared_tokens(text, part, prompt.ids);

  std::size_t asked = messages.size();
  while (asked > 0 && role(messages[asked - 1]) != "user" && role(messages[asked - 1]) != "tool") --asked;
  part.messages.clear();
  for (std::size_t i = 0; i < asked; ++i) part.messages.push_back(messages[i]);
  part.generation_prompt = text::GenerationPrompt::kOmit;
  const std::size_t user_end = asked > 0 ? shared_tokens(text, part, prompt.ids) : 0;

  if (system_end > 0 && system_end < user_end)
    prompt.checkpoints.push_back({.tokens = system_end, .kind = cache::CheckpointClass::kSystem});
  if (user_end > 0) prompt.checkpoints.push_back({.tokens = user_end, .kind = cache::CheckpointClass::kUser});
  return prompt;
}

}  // namespace lanner::engine
