// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "core/token.h"
#include "engine/request.h"
#include "engine/text_parts.h"
#include "text/chat_template.h"

namespace lanner::engine {

/// A rendered conversation, and where later ones are likely to part from it.
struct ChatPrompt {
  std::vector<TokenId> ids;
  std::vector<PrefixCheckpoint> checkpoints;  ///< ascending
};

/// Renders a conversation and finds the end of its system part and of its last user or tool message: the
/// beginnings it shares with renderings of less. What follows the latter (the model's opening, a thought) is
/// not the same in the next turn's history. Throws Error as TextParts::encode_chat().
ChatPrompt encode_chat_prompt(const TextParts& text, const text::ChatInput& input);

}  // namespace lanner::engine
