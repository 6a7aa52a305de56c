// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace lanner {

/// XXH64 of all bytes given so far, with seed 0. Finds damage, not attackers. Source: xxHash specification
/// 0.1.1.
class Xxhash64 {
 public:
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  std::uint64_t value() const;

 private:
  static constexpr std::size_t kStripe = 32;

  std::uint64_t lanes_[4] = {0x60ea27eeadc0b5d6, 0xc2b2ae3d27d4eb4f, 0, 0x61c8864e7a143579};
  std::byte tail_[kStripe] = {};
  std::size_t tail_size_ = 0;
  std::uint64_t total_ = 0;
};

inline std::uint64_t xxhash64(std::span<const std::byte> bytes) {
  Xxhash64 hash;
  hash.add(bytes);
  return hash.value();
}

}  // namespace lanner
