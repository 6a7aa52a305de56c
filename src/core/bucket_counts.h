// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lanner {

/// A histogram: how many values fell into which bucket. A bucket ends with its bound, which belongs to it;
/// behind the last bound is one more.
class BucketCounts {
 public:
  static constexpr std::size_t kMostBounds = 23;

  /// `bounds`: ascending, at most kMostBounds, of static life.
  explicit BucketCounts(std::span<const double> bounds) : bounds_(bounds) {}

  void add(double value) {
    ++counts_[static_cast<std::size_t>(std::ranges::lower_bound(bounds_, value) - bounds_.begin())];
    sum_ += value;
    ++total_;
  }
  std::span<const double> bounds() const { return bounds_; }
  /// Of each bucket alone: one more than there are bounds.
  std::span<const std::uint64_t> counts() const { return std::span(counts_).first(bounds_.size() + 1); }
  double sum() const { return sum_; }
  std::uint64_t total() const { return total_; }

 private:
  std::span<const double> bounds_;
  std::array<std::uint64_t, kMostBounds + 1> counts_ = {};
  double sum_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace lanner
