// SPDX-License-Identifier: MIT
#include "kernels/sampling/block_largest.h"

#include <algorithm>
#include <limits>

namespace lanner::kernels {

bool block_largest_reference(std::span<float> largest, std::span<const float> values) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  bool usable = true;
  std::ranges::fill(largest, -kInfinity);
  for (std::size_t i = 0; i < values.size(); ++i) {
    float& of_block = largest[i / kLargestBlock];
    of_block = std::max(of_block, values[i]);
    usable = usable && values[i] < kInfinity;
  }
  return usable;
}

}  // namespace lanner::kernels
