// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/token.h"
#include "text/bpe_merge_queue.h"
#include "text/bpe_word_cache.h"
#include "text/tokenizer_hash.h"
#include "text/tokenizer_json.h"
#include "text/tokenizer_vocabulary.h"

namespace lanner::io {
class Fields;
}

namespace lanner::text {

/// What a BPE model takes for its smallest symbols.
enum class BpeAlphabet {
  kCharacters,  ///< Unicode characters (Gemma).
  kBytes,       ///< Bytes, spelled as in bpe_byte_alphabet.h (Qwen).
};

/// A byte-pair-encoding model: which neighbouring symbols may merge, and which first. Source: the BPE model
/// of Hugging Face tokenizers 0.23. Does not hold the vocabulary.
class Bpe {
 public:
  Bpe() = default;
  /// Reads the `model` object and the tables of `file`. Throws Error: kCorrupt for a merge or unk_token that
  /// is not in the vocabulary, kUnsupported for dropout, continuing_subword_prefix and end_of_word_suffix.
  static Bpe parse(const io::Fields& model, const TokenizerFile& file, const Vocabulary& vocabulary,
                   BpeAlphabet alphabet);

  BpeAlphabet alphabet() const { return alphabet_; }
  std::size_t memory_bytes() const {
    return merges_.memory_bytes() + neighbours_.memory_bytes() + characters_.memory_bytes();
  }

 private:
  friend class BpeEncoder;
  static constexpr TokenId kNoSymbol = -1;

  void read_options(const io::Fields& model, const Vocabulary& vocabulary);
  void read_symbols(const Vocabulary& vocabulary);
  void read_merges(const TokenizerFile& file, const Vocabulary& vocabulary);
  void add_neighbours(std::string_view left, std::string_view right);
  TokenId character_symbol(char32_t character) const;

  static std::uint64_t pair_key(TokenId left, TokenId right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }
  /// Rank in the upper half, so that smaller values merge first, and the merged token in the lower.
  std::uint64_t merge_of(TokenId left, TokenId right) const {
    const std::uint64_t* merge = merges_.find(pair_key(left, right));
    return merge == nullptr ? ~std::uint64_t{0} : *merge;
  }
  bool may_merge_across(TokenId left, TokenId right) const {
    return !cuts_words_ || neighbours_.find(pair_key(left, right)) != nullptr;
  }

  BpeAlphabet alphabet_ = BpeAlphabet::kCharacters;
  std::optional<TokenId> unknown_;
  bool fuse_unknown_ = false;
  bool byte_fallback_ = false;
  bool whole_pieces_first_ = false;  ///< ignore_merges: a piece that is a token stays whole.
  /// Text may be cut where no merge could ever join the two characters; the result is the same and words
  /// become short enough to be remembered.
  bool cuts_words_ = true;
  FlatMap64 merges_;
  FlatMap64 neighbours_;  ///< Pairs of first symbols over which some merge reaches.
  FlatMap64 characters_;  ///< One-character tokens by code point.
  std::array<TokenId, 128> ascii_{};
  std::array<TokenId, 256> bytes_{};            ///< kBytes: the token of each byte.
  std::array<TokenId, 256> fallback_tokens_{};  ///< "<0xE2>" tokens.
};

/// Encodes the pieces of one text; keeps scratch memory and the words seen. Not thread-safe; cheap to make.
class BpeEncoder {
 public:
  BpeEncoder(const Bpe& model, const Vocabulary& vocabulary) : model_(model), vocabulary_(vocabulary) {}

  /// Appends the tokens of one piece, well-formed UTF-8. O(n log n) in the length of the piece.
  void encode(std::string_view piece, std::vector<TokenId>& out);

 private:
  void encode_by_words(std::string_view piece, std::vector<TokenId>& out);
  void encode_with_unknown(std::string_view text, std::vector<TokenId>& out);
  TokenId next_symbol(std::string_view text, std::size_t& position) const;
  bool append_fallback(std::string_view character, std::vector<TokenId>& out) const;
  void finish_word(std::string_view word, std::vector<TokenId>& out);
  void merge_symbols(std::vector<TokenId>& out);
  void merge_few();
  void merge_many(std::vector<TokenId>& out);
  void link_symbols();
  void renew_pair(std::uint32_t left);

  const Bpe& model_;
  const Vocabulary& vocabulary_;
  BpeWordCache cache_;
  std::vector<TokenId> symbols_, fallback_;
  std::vector<std::uint64_t> pair_merges_;  ///< For each symbol, its merge with the next one.
  std::vector<std::uint32_t> previous_, next_;
  std::vector<std::uint64_t> candidates_;  ///< Of the merges possible at first.
  BpeMergeQueue queue_;
};

}  // namespace lanner::text
