// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "engine/request.h"
#include "engine/text_parts.h"
#include "server/chat_request.h"
#include "server/completion_request.h"

namespace lanner::server {

/// A conversation as the model reads it.
struct RenderedPrompt {
  std::string text;
  std::vector<TokenId> ids;
  std::vector<engine::PrefixCheckpoint> checkpoints =
      {};  ///< where later requests are likely to part from it
};

/// Renders a conversation through the checkpoint's template. Throws RequestError `template_error` for the
/// template's own refusals, naming a message where one is at fault.
RenderedPrompt render_prompt(const engine::TextParts& parts, const ChatRequest& request);
/// The same for a conversation that nothing is generated for: without checkpoints.
RenderedPrompt render_prompt(const engine::TextParts& parts, const text::ChatInput& input);

/// Whether a text begins with the tokens its tokenizer puts in front of texts.
enum class BeginningTokens : std::uint8_t { kAdd, kOmit };
/// Tokens of a text without a template.
std::vector<TokenId> encode_text(const engine::TextParts& parts, const std::string& text,
                                 BeginningTokens beginning);

}  // namespace lanner::server
