// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kernels/sampling/block_largest.h"
#include "kernels/simd/vec.h"

namespace lanner::kernels {
namespace {

inline bool largest_of_blocks(float* largest, const float* values, std::size_t count) {
  const Vec infinity = splat(__builtin_inff());
  Vec unusable = splat(0);
  const std::size_t whole = count - count % kLargestBlock;
  for (std::size_t first = 0; first < whole; first += kLargestBlock) {
    Vec most = load(values + first);
    unusable = select_less(most, infinity, unusable, splat(1));
    for (std::size_t i = kLanes; i < kLargestBlock; i += kLanes) {
      const Vec next = load(values + first + i);
      unusable = select_less(next, infinity, unusable, splat(1));
      most = max(most, next);
    }
    largest[first / kLargestBlock] = max_lanes(most);
  }
  bool usable = max_lanes(unusable) == 0;
  if (whole == count) return usable;
  float most = -__builtin_inff();
  for (std::size_t i = whole; i < count; ++i) {
    most = values[i] > most ? values[i] : most;
    usable = usable && values[i] < __builtin_inff();
  }
  largest[whole / kLargestBlock] = most;
  return usable;
}

}  // namespace
}  // namespace lanner::kernels
