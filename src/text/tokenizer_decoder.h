// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/token.h"

namespace lanner::io {
class Fields;
}

namespace lanner::text {

class Vocabulary;

/// The `decoder` of a tokenizer.json, applied to every token once at load: what each token contributes to
/// text. Supported: [Replace | Strip]… then ByteLevel, or ByteFallback, or neither, then Fuse, then a Strip
/// of the whole text's start; alone or in a Sequence.
class TokenDecoder {
 public:
  /// How tokens become text.
  enum class Mode {
    kText,          ///< Each token is whole characters.
    kByteLevel,     ///< Tokens are bytes; characters may span tokens.
    kByteFallback,  ///< Whole characters, but for tokens of one byte each.
  };
  /// A Strip that acts on the whole text: up to `count` times `content` at its start.
  struct LeadingStrip {
    std::string content;
    std::size_t count = 0;
  };

  TokenDecoder() = default;
  /// Reads `field` of `parent`. Throws Error: kCorrupt when absent, kUnsupported for another type or order.
  static TokenDecoder parse(const io::Fields& parent, std::string_view field, const Vocabulary& vocabulary);

  Mode mode() const { return mode_; }
  const LeadingStrip& leading_strip() const { return leading_strip_; }
  /// The bytes a token stands for; empty for ids without a token.
  std::string_view bytes(TokenId id) const;
  /// kByteFallback: the token is one byte rather than characters.
  bool is_single_byte(TokenId id) const;
  std::size_t memory_bytes() const { return characters_.capacity() + entries_.capacity() * sizeof(Entry); }

 private:
  struct Replace {
    std::string from, to;
  };
  struct Strip {
    std::string content;
    std::size_t start = 0, stop = 0;
  };
  using TokenStep = std::variant<Replace, Strip>;
  struct Entry {
    std::uint32_t offset = 0, size = 0;
    bool single_byte = false;
  };
  /// What has been read of a decoder's sequence; components must come in this order.
  enum class Part { kTokens, kBytes, kFused };

  void add_component(const io::Fields& component, Part& reached);
  void add_strip(const io::Fields& component, Part reached);
  void add_replace(const io::Fields& component);
  void decode_tokens(const Vocabulary& vocabulary);
  std::string apply_steps(std::string_view token) const;

  Mode mode_ = Mode::kText;
  std::vector<TokenStep> token_steps_;
  LeadingStrip leading_strip_;
  std::string characters_;
  std::vector<Entry> entries_;
};

}  // namespace lanner::text
