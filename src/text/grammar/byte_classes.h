// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "text/grammar/byte_set.h"

namespace lanner::text::grammar {

/// The byte values in classes that none of some sets tells apart.
class ByteClasses {
 public:
  ByteClasses() { size_[0] = ByteSet::kByteValues; }

  /// Splits the classes that lie partly in `set`, in time linear in the set's size.
  void split_by(const ByteSet& set) {
    const std::vector<std::uint8_t> bytes = set.bytes();
    std::array<std::uint16_t, ByteSet::kByteValues> inside{};
    for (const std::uint8_t byte : bytes) ++inside[of_[byte]];
    std::array<std::uint8_t, ByteSet::kByteValues> moves_to;
    for (unsigned one = 0, known = count_; one < known; ++one) {
      const bool is_split = inside[one] > 0 && inside[one] < size_[one];
      moves_to[one] = static_cast<std::uint8_t>(is_split ? count_ : one);
      if (!is_split) continue;
      size_[count_++] = inside[one];
      size_[one] = static_cast<std::uint16_t>(size_[one] - inside[one]);
    }
    for (const std::uint8_t byte : bytes) of_[byte] = moves_to[of_[byte]];
  }

  unsigned count() const { return count_; }
  /// The class of every byte, below count().
  const std::array<std::uint8_t, ByteSet::kByteValues>& of() const { return of_; }
  /// One byte of each class.
  std::vector<std::uint8_t> representatives() const {
    std::vector<std::uint8_t> bytes(count_);
    for (unsigned byte = 0; byte < ByteSet::kByteValues; ++byte)
      bytes[of_[byte]] = static_cast<std::uint8_t>(byte);
    return bytes;
  }

 private:
  std::array<std::uint8_t, ByteSet::kByteValues> of_{};
  std::array<std::uint16_t, ByteSet::kByteValues> size_{};  ///< Of each class, in bytes.
  unsigned count_ = 1;
};

}  // namespace lanner::text::grammar
