// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

namespace lanner::kernels {

/// Values of a block.
inline constexpr std::size_t kLargestBlock = 64;

/// largest[b] = the largest of values[64 b], ..., values[64 b + 63], the last block perhaps shorter. Returns
/// false when a value is not a number, or +infinity; what stands in `largest` is then of no use. Any
/// alignment. batch-invariant: yes.
using BlockLargestFn = bool(std::span<float> largest, std::span<const float> values);
BlockLargestFn block_largest_reference, block_largest_avx2, block_largest_avx512, block_largest_neon;

}  // namespace lanner::kernels
