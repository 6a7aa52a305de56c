// SPDX-License-Identifier: MIT
// For .cu files: the order of the delta rule's sums, the same in a single row and in a prompt.
#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/delta_net/delta_net.cuda.h"
#include "kernels/delta_net/delta_net.h"

namespace lanner::kernels {

inline constexpr unsigned kChunk = kMostDeltaChunk;
inline constexpr unsigned kMostDim = 128;  ///< of keys and values

/// Sums over key elements run in blocks of this many, blocks in ascending order; so do sums over entries.
inline constexpr unsigned kKeyBlock = 32;
inline constexpr unsigned kEntryBlock = 16;

/// Row t of a sequence's open chunk: kept rows lie in the cache, later ones in this call's input.
__device__ inline const float* key_of(const DeltaNetRowsCuda& call, const DeltaShapeCuda& shape,
                                      unsigned head, unsigned t) {
  const std::size_t width = std::size_t{shape.key_heads} * shape.key_dim;
  const unsigned key_head = head / (shape.value_heads / shape.key_heads);
  if (t < call.first) return call.entry_keys + (std::size_t{key_head} * kChunk + t) * shape.key_dim;
  const std::size_t stride = 2 * width + std::size_t{shape.value_heads} * shape.value_dim;
  return call.qkv + (t - call.first) * stride + width + std::size_t{key_head} * shape.key_dim;
}

/// What a row of one head takes: `decay` of the state, and of the entries the two sums.
struct RowSums {
  float read_key;
  float read_query;
  float key_sum;
  float query_sum;
};

/// The row's pseudo-value.
__device__ inline float pseudo_value(const RowSums& sums, float v, float beta, float decay) {
  return beta * (v - fmaf(decay, sums.read_key, sums.key_sum));
}

/// The row's output; own = e^0 (k_t·q_t).
__device__ inline float row_output(const RowSums& sums, float decay, float own, float value) {
  return fmaf(own, value, fmaf(decay, sums.read_query, sums.query_sum));
}

}  // namespace lanner::kernels
