// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace lanner::text {

inline std::uint64_t mix_bits(std::uint64_t x) {
  x *= 0x9E3779B97F4A7C15u;
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93u;
  return x ^ x >> 29;
}

/// For tables in memory only: not stable between machines of different byte order.
inline std::uint64_t hash_bytes(std::string_view bytes) {
  std::uint64_t hash = bytes.size();
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    hash = mix_bits(hash ^ word);
    bytes.remove_prefix(8);
  }
  std::uint64_t tail = 0;
  if (!bytes.empty()) std::memcpy(&tail, bytes.data(), bytes.size());
  return mix_bits(hash ^ tail ^ static_cast<std::uint64_t>(bytes.size()) << 56);
}

/// A hash table from 64-bit keys to 64-bit values without removal: open addressing, at most two thirds full.
/// The key ~0 is reserved.
class FlatMap64 {
 public:
  explicit FlatMap64(std::size_t expected_entries = 0)
      : slots_(std::bit_ceil(expected_entries + expected_entries / 2 + 2), Slot{kEmpty, 0}) {}

  /// Adds the key, or gives it a new value.
  void set(std::uint64_t key, std::uint64_t value) {
    if (3 * (size_ + 1) > 2 * slots_.size()) grow();
    Slot& slot = slots_[slot_of(key)];
    size_ += slot.key == kEmpty;
    slot = {key, value};
  }
  /// The value, or nullptr.
  const std::uint64_t* find(std::uint64_t key) const {
    const Slot& slot = slots_[slot_of(key)];
    return slot.key == kEmpty ? nullptr : &slot.value;
  }
  std::size_t size() const { return size_; }
  std::size_t memory_bytes() const { return slots_.capacity() * sizeof(Slot); }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t key, value;
  };

  std::size_t slot_of(std::uint64_t key) const {
    std::size_t i = mix_bits(key) & (slots_.size() - 1);
    while (slots_[i].key != key && slots_[i].key != kEmpty) i = (i + 1) & (slots_.size() - 1);
    return i;
  }
  void grow() {
    std::vector<Slot> old(2 * slots_.size(), Slot{kEmpty, 0});
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.key != kEmpty) slots_[slot_of(slot.key)] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace lanner::text
