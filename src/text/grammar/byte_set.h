// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace lanner::text::grammar {

/// A set of byte values.
class ByteSet {
 public:
  static constexpr std::size_t kByteValues = 256;

  static ByteSet of(std::uint8_t byte) { return range(byte, byte); }
  static ByteSet all() { return range(0, 255); }
  /// Bytes first..last, both included.
  static ByteSet range(std::uint8_t first, std::uint8_t last) {
    ByteSet set;
    for (unsigned byte = first; byte <= last; ++byte) set.add(static_cast<std::uint8_t>(byte));
    return set;
  }

  void add(std::uint8_t byte) { words_[byte >> 6] |= std::uint64_t{1} << (byte & 63); }
  bool contains(std::uint8_t byte) const { return (words_[byte >> 6] >> (byte & 63) & 1) != 0; }
  /// Its bytes, ascending.
  std::vector<std::uint8_t> bytes() const {
    std::vector<std::uint8_t> all;
    for (std::size_t i = 0; i < words_.size(); ++i)
      for (std::uint64_t left = words_[i]; left != 0; left &= left - 1)
        all.push_back(static_cast<std::uint8_t>(64 * i + static_cast<std::size_t>(std::countr_zero(left))));
    return all;
  }
  /// Its byte, when it has one only.
  std::optional<std::uint8_t> only() const {
    std::optional<std::uint8_t> byte;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (words_[i] == 0) continue;
      if (byte || !std::has_single_bit(words_[i])) return std::nullopt;
      byte = static_cast<std::uint8_t>(64 * i + static_cast<std::size_t>(std::countr_zero(words_[i])));
    }
    return byte;
  }
  bool empty() const { return (words_[0] | words_[1] | words_[2] | words_[3]) == 0; }

  ByteSet& operator|=(const ByteSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
    return *this;
  }
  friend auto operator<=>(const ByteSet&, const ByteSet&) = default;
  const std::array<std::uint64_t, 4>& words() const { return words_; }

 private:
  std::array<std::uint64_t, 4> words_{};
};

}  // namespace lanner::text::grammar
