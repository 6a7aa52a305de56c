// SPDX-License-Identifier: MIT
#include "kernels/sampling/block_largest.h"

#include "kernels/sampling/block_largest.simd.h"

namespace lanner::kernels {

// Fast because: 16 lanes, without branches.

bool block_largest_avx512(std::span<float> largest, std::span<const float> values) {
  return largest_of_blocks(largest.data(), values.data(), values.size());
}

}  // namespace lanner::kernels
