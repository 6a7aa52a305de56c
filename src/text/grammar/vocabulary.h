// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/token.h"
#include "text/grammar/class_trie.h"
#include "text/grammar/token_mask.h"
#include "text/grammar/token_trie.h"

namespace lanner::text {
class Tokenizer;
}

namespace lanner::text::grammar {

/// A model's tokens as grammars see them: text tokens by their bytes, markers by name only (text that spells
/// a marker is text), and stop tokens, which may come where a grammar may end. Immutable; shared by all
/// grammars of a model.
class GrammarVocabulary {
 public:
  /// A marker: a token that no text can form, such as <|tool_call>.
  struct Marker {
    TokenId id = 0;
    std::string name;
  };

  /// `stop_ids`: tokens that end an answer, as in generation_config.json.
  GrammarVocabulary(const Tokenizer& tokenizer, std::vector<TokenId> stop_ids);
  /// The same from its parts. `size`: highest id + 1.
  GrammarVocabulary(std::size_t size, std::vector<TokenBytes> text_tokens, std::vector<Marker> markers,
                    std::vector<TokenId> stop_ids);

  std::size_t size() const { return size_; }
  std::span<const TokenId> stop_ids() const { return stop_ids_; }
  bool is_stop(TokenId id) const;
  const std::vector<Marker>& markers() const { return markers_; }
  std::optional<TokenId> marker(std::string_view name) const;
  bool is_marker(TokenId id) const;
  /// Empty for markers and ids without a token.
  std::string_view text(TokenId id) const;

  /// The text tokens that are plain (see kMaxPlain), and the others. Stop tokens are in neither.
  const TokenTrie& plain() const { return plain_trie_; }
  const TokenTrie& rest() const { return rest_; }
  /// The plain ones by the classes of their characters.
  const ClassTrie& classes() const { return classes_; }
  /// Longest text of any token, in bytes.
  std::uint32_t max_bytes() const {
    return static_cast<std::uint32_t>(std::max(plain_trie_.max_depth(), rest_.max_depth()));
  }

  /// Plain tokens are 1..kMaxPlain whole characters that a JSON string holds as they are: none of " \ and
  /// U+0000..U+001F. Most of a vocabulary is plain, and inside a string it can be allowed at one stroke.
  static constexpr std::size_t kMaxPlain = 24;
  /// Mask of the plain tokens of at most `characters` characters (<= kMaxPlain).
  std::span<const std::uint64_t> plain_up_to(std::size_t characters) const { return plain_[characters]; }

 private:
  void index(std::vector<TokenBytes> text_tokens);

  std::size_t size_ = 0;
  std::vector<Marker> markers_;
  std::vector<TokenId> stop_ids_;
  std::string characters_;
  std::vector<std::uint32_t> offsets_;  ///< By id, one more than size_.
  std::vector<std::vector<std::uint64_t>> plain_;
  TokenTrie plain_trie_, rest_;
  ClassTrie classes_;
};

/// Why a grammar may not name a stop token.
std::string stop_marker_message(std::string_view name);

}  // namespace lanner::text::grammar
