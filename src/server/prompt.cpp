// SPDX-License-Identifier: MIT
#include "server/prompt.h"

#include <algorithm>

#include "core/error.h"
#include "engine/chat_prompt.h"
#include "server/problem.h"

namespace lanner::server {
namespace {

constexpr std::string_view kGemmaBegin = "<bos>";

/// "messages[1].tool_calls[0]" of "messages[1].tool_calls[0]: expected ..."
std::string place_of(std::string_view message) {
  if (!message.starts_with("messages[") && !message.starts_with("tools[")) return {};
  return std::string(message.substr(0, message.find(": ")));
}

/// What the template itself refuses is the request's fault.
template <typename Render>
auto rendered(Render render) {
  try {
    return render();
  } catch (const RequestError&) {
    throw;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInvalidArgument && error.kind() != ErrorKind::kNotFound) throw;
    const std::string place = place_of(error.what());
    throw RequestError({.code = place.empty() ? "template_error" : "invalid_value",
                        .message = error.what(),
                        .param = place.empty() ? "messages" : place});
  }
}

text::RenderedChat render_template(const engine::TextParts& parts, const text::ChatInput& input) {
  return rendered([&] { return parts.chat_template().render(input); });
}

std::vector<TokenId> encode_rendered(const text::Tokenizer& tokenizer, const text::RenderedChat& chat) {
  std::vector<TokenId> ids = tokenizer.encode(chat.text, {.literal = chat.literal});
  const auto bos = tokenizer.token_id(kGemmaBegin);
  if (bos && ids.size() > 1 && ids[0] == *bos && ids[1] == *bos) ids.erase(ids.begin());
  return ids;
}

/// Cuts a rendering behind the last message's text, which an answer continues.
void cut_behind_last(text::RenderedChat& chat, const Json& last) {
  const Json content = last.contains("content") ? last["content"] : Json();
  std::string text = content.is_string() ? content.get<std::string>() : std::string();
  if (content.is_array() && !content.empty() && content.back().contains("text"))
    text = content.back()["text"];
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  text.resize(end == std::string::npos ? 0 : end + 1);
  const std::size_t at = text.empty() ? std::string::npos : chat.text.rfind(text);
  if (at == std::string::npos)
    refuse_field("continue_final_message", "invalid_value",
                 "continue_final_message: the template does not show the last message's text");
  chat.text.resize(at + text.size());
  std::erase_if(chat.literal, [&](const text::TextSpan& span) { return span.begin >= chat.text.size(); });
  if (!chat.literal.empty()) chat.literal.back().end = std::min(chat.literal.back().end, chat.text.size());
}

}  // namespace

RenderedPrompt render_prompt(const engine::TextParts& parts, const text::ChatInput& input) {
  const text::RenderedChat chat = render_template(parts, input);
  return {chat.text, encode_rendered(parts.tokenizer(), chat)};
}

RenderedPrompt render_prompt(const engine::TextParts& parts, const ChatRequest& request) {
  if (!request.continues_last) {
    engine::ChatPrompt prompt = rendered([&] { return engine::encode_chat_prompt(parts, request.input); });
    return {{}, std::move(prompt.ids), std::move(prompt.checkpoints)};
  }
  text::RenderedChat chat = render_template(parts, request.input);
  cut_behind_last(chat, request.input.messages.back());
  return {chat.text, encode_rendered(parts.tokenizer(), chat)};
}

std::vector<TokenId> encode_text(const engine::TextParts& parts, const std::string& text,
                                 BeginningTokens beginning) {
  return beginning == BeginningTokens::kAdd ? parts.encode_plain(text) : parts.tokenizer().encode(text);
}

}  // namespace lanner::server
