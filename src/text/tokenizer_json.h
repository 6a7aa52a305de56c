// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/json.h"

namespace lanner::text {

/// A tokenizer.json in memory: `model.vocab` and `model.merges`, which hold nearly all of its bytes, in flat
/// tables, and the rest as ordinary JSON (where these two are absent).
struct TokenizerFile {
  struct TextRange {
    std::uint32_t offset = 0, size = 0;
  };
  struct VocabEntry {
    TextRange text;
    std::int64_t id = 0;
  };
  struct Merge {
    TextRange left, right;
  };

  std::string source;  ///< The file's name, for messages.
  io::Json json;
  std::string characters;  ///< What every TextRange points into.
  std::vector<VocabEntry> vocab;
  std::vector<Merge> merges;

  std::string_view text(TextRange range) const {
    return std::string_view(characters).substr(range.offset, range.size);
  }
};

/// Parses the text of a tokenizer.json in one pass. Merges may be "a b" or ["a", "b"]. Throws Error kCorrupt
/// naming `source` and the place: not JSON, nested too deep, or a vocabulary entry or merge of another type.
TokenizerFile parse_tokenizer_json(std::string_view text, std::string source);

}  // namespace lanner::text
