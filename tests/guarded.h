// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace lanner::test {

/// `count` elements between two runs of guard bytes; `offset` shifts the first element off its alignment by
/// that many elements. Elements begin as the guard pattern too (a NaN when T is float), so an element that a
/// kernel forgot to write stands out.
template <typename T>
class Guarded {
 public:
  explicit Guarded(std::size_t count, std::size_t offset = 0)
      : memory_((kGuards + offset + count + kGuards) * sizeof(T), kPattern),
        begin_(kGuards + offset),
        count_(count) {}

  T* data() { return reinterpret_cast<T*>(memory_.data()) + begin_; }
  const T* data() const { return reinterpret_cast<const T*>(memory_.data()) + begin_; }
  std::size_t size() const { return count_; }
  T& operator[](std::size_t index) { return data()[index]; }
  const T& operator[](std::size_t index) const { return data()[index]; }
  T* begin() { return data(); }
  T* end() { return data() + count_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + count_; }

  /// True while nothing outside the elements was written.
  bool guards_intact() const {
    const std::size_t first = begin_ * sizeof(T);
    const std::size_t last = first + count_ * sizeof(T);
    for (std::size_t i = 0; i < memory_.size(); ++i)
      if ((i < first || i >= last) && memory_[i] != kPattern) return false;
    return true;
  }

 private:
  static constexpr std::size_t kGuards = 64;
  static constexpr unsigned char kPattern = 0xff;

  std::vector<unsigned char> memory_;
  std::size_t begin_;
  std::size_t count_;
};

/// True when both ranges hold the same bits (so NaN equals NaN and -0 differs from 0).
inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

}  // namespace lanner::test
