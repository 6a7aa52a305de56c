// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "core/token.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace lanner::engine {

/// What a checkpoint folder holds about text: its tokenizer and, if any, its chat template. Needs no weights.
/// Immutable.
class TextParts {
 public:
  /// Throws Error kNotFound without tokenizer.json, kCorrupt and kUnsupported for files it cannot use.
  explicit TextParts(const std::filesystem::path& folder);

  const text::Tokenizer& tokenizer() const { return tokenizer_; }
  bool has_chat_template() const { return chat_template_.has_value(); }
  /// Throws Error kNotFound when the folder has no chat template.
  const text::ChatTemplate& chat_template() const;

  /// Token ids of a prompt that is no chat: what the tokenizer gives, after <bos> where the family begins
  /// texts so.
  std::vector<TokenId> encode_plain(std::string_view text) const;
  /// Token ids of a conversation, rendered through the chat template. Markers inside what users wrote are
  /// ordinary text; a doubled <bos> at the beginning is taken once. Throws Error as chat_template() and the
  /// template do.
  std::vector<TokenId> encode_chat(const text::ChatInput& input) const;

 private:
  std::filesystem::path folder_;
  text::Tokenizer tokenizer_;
  std::optional<text::ChatTemplate> chat_template_;
};

}  // namespace lanner::engine
