// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/token.h"

namespace lanner::text {

/// Ids from here on are refused: far above any model's, and a bound on what a broken file can make us
/// allocate.
inline constexpr TokenId kMaxTokenId = 1 << 22;

/// Token texts by id and ids by text. Ids may leave gaps.
class Vocabulary {
 public:
  enum class AddResult { kAdded, kTextTaken, kIdTaken };

  Vocabulary() : Vocabulary(0) {}
  explicit Vocabulary(std::size_t expected_tokens);

  /// Adds one token; 0 <= id < kMaxTokenId.
  AddResult add(std::string_view text, TokenId id);

  std::optional<TokenId> find(std::string_view text) const;
  /// The text as the file spells it; empty for ids without a token.
  std::string_view text(TokenId id) const;
  bool contains(TokenId id) const;
  /// Highest id + 1.
  std::size_t size() const { return ranges_.size(); }
  std::size_t memory_bytes() const;

 private:
  struct Range {
    std::uint32_t offset = 0, size = 0;
    bool used = false;
  };
  struct Slot {
    std::uint32_t tag = 0;  ///< Upper hash bits: spares reading the text of most other tokens.
    TokenId id = -1;
  };

  std::size_t slot_of(std::string_view text, std::uint64_t hash) const;
  void grow();

  std::string characters_;
  std::vector<Range> ranges_;
  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace lanner::text
