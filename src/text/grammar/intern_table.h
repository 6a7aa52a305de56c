// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lanner::text::grammar {

/// Mixes words into one hash value.
inline std::uint64_t hash_word(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 29);
}

/// Finds equal things by hash: an open-addressed table of ids. The owner keeps the things themselves.
class InternTable {
 public:
  /// The id of the entry with this hash for which `equal(id)` holds; else `fresh` after adding it.
  template <typename Equal>
  std::uint32_t find_or_add(std::uint64_t hash, std::uint32_t fresh, const Equal& equal) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    std::size_t at = hash & (slots_.size() - 1);
    for (; slots_[at].id != kFree; at = (at + 1) & (slots_.size() - 1))
      if (slots_[at].hash == hash && equal(slots_[at].id)) return slots_[at].id;
    slots_[at] = {hash, fresh};
    ++count_;
    return fresh;
  }
  std::size_t memory_bytes() const { return slots_.size() * sizeof(Slot); }

 private:
  static constexpr std::uint32_t kFree = ~std::uint32_t{0};
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t id = kFree;
  };

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.id == kFree) continue;
      std::size_t at = slot.hash & (slots_.size() - 1);
      while (slots_[at].id != kFree) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace lanner::text::grammar
