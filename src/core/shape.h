// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace lanner {

/// Extents of a tensor, outermost first; at most kMaxRank of them, held inline.
class Shape {
 public:
  static constexpr int kMaxRank = 8;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents) : Shape(std::span(extents.begin(), extents.size())) {}
  explicit Shape(std::span<const std::int64_t> extents);

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const {
    assert(axis >= 0 && axis < rank_);
    return extents_[static_cast<std::size_t>(axis)];
  }
  /// The innermost extent; rank must be at least 1.
  std::int64_t back() const { return (*this)[rank_ - 1]; }
  std::span<const std::int64_t> extents() const { return {extents_.data(), static_cast<std::size_t>(rank_)}; }
  /// Product of the extents; 1 for rank 0.
  std::int64_t element_count() const;

  friend bool operator==(const Shape& a, const Shape& b);

 private:
  std::array<std::int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

/// "[512, 2560]"
std::string to_string(const Shape& shape);

}  // namespace lanner
