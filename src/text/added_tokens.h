// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/token.h"

namespace lanner::text {

class Normalizer;

/// A token that is found in text before the model sees it.
struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool special = false;      ///< A control token: kSkip decoding leaves it out.
  bool normalized = false;   ///< It is looked for in normalized text, in its own normalized spelling.
  bool lstrip = false;       ///< It takes the white space before it.
  bool rstrip = false;       ///< It takes the white space behind it.
  bool single_word = false;  ///< It counts only where no letter or digit touches it.
  /// Its text belongs to the model's own vocabulary: Gemma's newline runs and <table>, but not Qwen's
  /// <think>.
  bool in_model = false;

  /// A marker of a prompt's structure, which text that a user wrote must not be able to form.
  bool is_marker() const { return special || !in_model; }
};

/// Which added tokens are recognized in text.
enum class AddedTokenUse {
  kAll,         ///< What a rendered chat template needs, and the reference's default.
  kNotSpecial,  ///< The reference's encode_special_tokens: special tokens are ordinary text.
  kNotMarkers,  ///< Markers are ordinary text, also those not flagged special, such as Qwen's <think>.
};

/// Bytes [begin, end) of a text.
struct TextSpan {
  std::size_t begin = 0, end = 0;
};

/// Finds added tokens in text, the longest at each place, from left to right. Source: AddedVocabulary of
/// Hugging Face tokenizers 0.23.
class AddedTokens {
 public:
  /// A stretch of text: one added token, or text between them.
  struct Part {
    std::optional<TokenId> token;
    TextSpan span;
  };
  /// In which text to look: before or after normalization.
  enum class Stage { kRaw, kNormalized };

  AddedTokens() = default;
  /// Tokens with empty content are never found.
  AddedTokens(std::vector<AddedToken> tokens, const Normalizer& normalizer);

  /// Cuts `text` at this stage's tokens. A marker that touches one of `literal` (ascending spans of `text`)
  /// is ordinary text. Parts are never empty.
  std::vector<Part> split(std::string_view text, Stage stage, AddedTokenUse use,
                          const std::vector<TextSpan>& literal) const;

  const std::vector<AddedToken>& tokens() const { return tokens_; }

 private:
  struct Pattern {
    std::string text;
    std::size_t token = 0;  ///< Index into tokens_.
  };
  /// Patterns sorted by text; those that start with byte b are [begins[b], begins[b + 1]).
  struct PatternSet {
    std::vector<Pattern> sorted;
    std::array<std::uint32_t, 257> begins{};
    bool empty() const { return sorted.empty(); }
  };

  const PatternSet& patterns(Stage stage) const { return stage == Stage::kRaw ? raw_ : normalized_; }
  static void index_by_first_byte(PatternSet& set);
  const Pattern* longest_at(const PatternSet& set, std::string_view text, std::size_t begin,
                            std::size_t markers_end) const;

  std::vector<AddedToken> tokens_;
  PatternSet raw_, normalized_;
};

}  // namespace lanner::text
