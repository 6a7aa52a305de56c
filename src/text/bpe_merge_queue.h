// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace lanner::text {

/// A priority queue of numbers, smallest first, for pushes that mostly come in a few rising sequences:
/// merging walks the text from left to right, so the candidates of one rank rise. Such a number is appended
/// to a run and taken from its front, both in constant time; whatever fits no run goes to a heap.
class BpeMergeQueue {
 public:
  /// Forgets what is left and begins with `first`, in any order.
  void start(const std::vector<std::uint64_t>& first);
  /// Any number but the largest of its type.
  void push(std::uint64_t number);
  /// Takes the smallest number; nothing when none is left.
  std::optional<std::uint64_t> pop();

 private:
  static constexpr std::size_t kRuns = 8;
  static constexpr std::uint64_t kEmpty = std::numeric_limits<std::uint64_t>::max();

  /// Rising numbers, taken from the front.
  struct Run {
    std::vector<std::uint64_t> numbers;
    std::size_t taken = 0;
  };

  std::uint64_t take_from(std::size_t index);
  std::uint64_t take_from_heap();

  std::array<Run, kRuns> runs_;
  std::array<std::uint64_t, kRuns> fronts_{};  ///< kEmpty for an empty run.
  std::array<std::uint64_t, kRuns> backs_{};   ///< 0 for an empty run.
  std::vector<std::uint64_t> heap_;
};

}  // namespace lanner::text
