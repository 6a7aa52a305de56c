// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/token.h"

namespace lanner::text {

/// The ids of words met before in one text. It starts small, grows with the text and starts over when full,
/// so its memory stays bounded.
class BpeWordCache {
 public:
  /// Longer words are rare and would crowd out the frequent ones.
  static constexpr std::size_t kMaxWordBytes = 48;

  /// The ids of `word`, valid until the next insert().
  std::optional<std::span<const TokenId>> find(std::string_view word) const;
  /// Adds a word that find() does not know.
  void insert(std::string_view word, std::span<const TokenId> ids);

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t word_begin = 0, ids_begin = 0;
    std::uint16_t word_size = 0, ids_size = 0;  ///< word_size 0: free.
  };

  std::size_t slot_of(std::string_view word, std::uint64_t hash) const;
  void make_room();

  std::vector<Slot> slots_;
  std::string words_;
  std::vector<TokenId> ids_;
  std::size_t count_ = 0;
};

}  // namespace lanner::text
