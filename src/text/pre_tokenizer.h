// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/tokenizer_pattern.h"

namespace lanner::io {
class Fields;
}

namespace lanner::text {

/// What becomes of the matches and of the text between them.
enum class SplitBehavior { kIsolated, kRemoved, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// A stretch of text that is tokenized by itself.
struct Piece {
  std::string_view text;
  bool at_text_start = false;  ///< It begins the whole input.
};

/// The pieces of one text. Those that a component changed point into `storage`, the others into the text
/// itself.
struct Pieces {
  std::vector<Piece> list;
  std::deque<std::string> storage;
};

/// The `pre_tokenizer` of a tokenizer.json: cuts normalized text into pieces. Supported types: Sequence,
/// Split, ByteLevel, Digits, Metaspace. Only the cutting of ByteLevel happens here: that the model then works
/// on bytes instead of characters is what byte_level() tells.
class PreTokenizer {
 public:
  PreTokenizer() = default;  ///< One piece.
  /// Reads `field` of `parent` (absent: one piece). Throws Error kUnsupported for another type, and for a
  /// component after ByteLevel.
  static PreTokenizer parse(const io::Fields& parent, std::string_view field);

  /// Cuts one text, replacing what `pieces` held. Pieces are never empty.
  void split(Piece text, Pieces& pieces) const;
  bool byte_level() const { return byte_level_; }

 private:
  struct Split {
    TextPattern pattern;
    SplitBehavior behavior = SplitBehavior::kIsolated;
    bool inverted = false;
  };
  struct Digits {
    bool individual = false;
  };
  enum class PrependScheme { kAlways, kFirst, kNever };
  struct Metaspace {
    std::string replacement;
    PrependScheme prepend = PrependScheme::kAlways;
    bool split = true;
  };
  struct PrefixSpace {};  ///< ByteLevel with add_prefix_space
  using Step = std::variant<Split, Digits, Metaspace, PrefixSpace>;

  void add_component(const io::Fields& component);
  void add_byte_level(const io::Fields& component);
  static Split parse_split(const io::Fields& component);
  static Metaspace parse_metaspace(const io::Fields& component);
  static void apply_step(const Split& step, Piece piece, Pieces& pieces);
  static void apply_step(const Digits& step, Piece piece, Pieces& pieces);
  static void apply_step(const Metaspace& step, Piece piece, Pieces& pieces);
  static void apply_step(const PrefixSpace& step, Piece piece, Pieces& pieces);

  std::vector<Step> steps_;
  bool byte_level_ = false;
};

}  // namespace lanner::text
