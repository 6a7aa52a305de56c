// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/token.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer_decoder.h"
#include "text/tokenizer_post_processor.h"
#include "text/tokenizer_vocabulary.h"

namespace lanner::text {

/// Whether encode() puts the tokens of the file's post_processor (<bos> for some) around the text.
enum class Surround { kNothing, kPostProcessor };

struct EncodeOptions {
  Surround surround = Surround::kNothing;
  AddedTokenUse added_tokens = AddedTokenUse::kAll;
  /// Parts of the text, ascending, in which markers are ordinary text whatever `added_tokens` says: what
  /// users wrote, inside a prompt whose markers come from a template. A marker that reaches into such a part
  /// is text.
  std::vector<TextSpan> literal = {};
};

/// Whether special tokens show in decoded text.
enum class SpecialTokens { kKeep, kSkip };

struct DecodeOptions {
  SpecialTokens special_tokens = SpecialTokens::kKeep;
};

/// The tokenizer of a checkpoint, read from its tokenizer.json, with the ids and texts of Hugging Face
/// tokenizers 0.23. BPE models of the Gemma and Qwen families; see the components' headers for the types
/// supported. All const members may be called from many threads at once.
class Tokenizer {
 public:
  /// `tokenizer_config_json`: its added_tokens_decoder adds to, or corrects the flags of, the file's added
  /// tokens. Throws Error: kNotFound, kIo, kCorrupt, kUnsupported, each naming file and field.
  static Tokenizer load(const std::filesystem::path& tokenizer_json,
                        const std::optional<std::filesystem::path>& tokenizer_config_json = std::nullopt);
  /// The same from the files' contents; `source` stands for the first file's name in errors.
  static Tokenizer parse(std::string_view tokenizer_json, std::string_view source = "tokenizer.json",
                         std::optional<std::string_view> tokenizer_config_json = std::nullopt);

  /// Throws Error kInvalidArgument when `text` is not well-formed UTF-8 (see to_valid_utf8()).
  std::vector<TokenId> encode(std::string_view text, const EncodeOptions& options = {}) const;

  /// Text of the tokens, well-formed UTF-8: bytes that are no text become U+FFFD, ids without a token
  /// nothing.
  std::string decode(std::span<const TokenId> ids, DecodeOptions options = {}) const;

  std::optional<TokenId> token_id(std::string_view text) const { return vocabulary_.find(text); }
  /// The token as the file spells it ("Ġthe", "▁the", "<0xE2>"); empty for ids without a token.
  std::string token_text(TokenId id) const { return std::string(vocabulary_.text(id)); }
  /// The bytes the token adds to text (" the"), perhaps only part of a character.
  std::string token_bytes(TokenId id) const { return std::string(decoder_.bytes(id)); }
  bool contains(TokenId id) const { return vocabulary_.contains(id); }
  /// Highest id + 1. A model's logits may have more rows, for padding.
  std::size_t vocab_size() const { return vocabulary_.size(); }
  bool is_special(TokenId id) const;
  const std::vector<AddedToken>& added_tokens() const { return added_tokens_.tokens(); }
  /// Of its tables, which grow with the vocabulary.
  std::size_t memory_bytes() const {
    return vocabulary_.memory_bytes() + model_.memory_bytes() + decoder_.memory_bytes();
  }
  /// What Surround::kPostProcessor puts before and behind a text.
  const PostProcessor& post_processor() const { return post_processor_; }

 private:
  friend class Detokenizer;
  Tokenizer() = default;

  void encode_between_raw_tokens(std::string_view text, TextSpan span, const EncodeOptions& options,
                                 BpeEncoder& encoder, std::vector<TokenId>& out) const;
  void encode_normalized(Piece text, BpeEncoder& encoder, std::vector<TokenId>& out) const;

  Vocabulary vocabulary_;
  AddedTokens added_tokens_;
  std::vector<bool> special_;  ///< By id.
  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  Bpe model_;
  TokenDecoder decoder_;
  PostProcessor post_processor_;
};

}  // namespace lanner::text
