// SPDX-License-Identifier: MIT
// For .cu files: what the delta rule of a prompt needs of its chunks, whatever the state.
#pragma once

#include "kernels/delta_net/delta_sums.cuh"

namespace lanner::kernels {

inline constexpr unsigned kEntryBlocks = kChunk / kEntryBlock;

/// Rows of keys or queries; they lie apart, so that eight neighbouring ones meet all banks. So do pairs'
/// rows.
using KeyRows = float[kChunk][kMostDim + 4];
using ChunkPairs = float[kChunk][kChunk + 4];

/// A chunk's rows for one key head.
struct ChunkRows {
  KeyRows keys;
  KeyRows queries;
};

/// Weights of one head's chunk: what row t takes of entry i <= t for its key and its query, and of the state;
/// what the state after the chunk takes of entry i, and of the state before. Blocks of 16 by 16 with i > t
/// alone are not there.
struct ChunkWeights {
  ChunkPairs key;
  ChunkPairs query;
  float beta[kChunk];
  float state[kChunk];
  float at_end[kChunk];
  float state_at_end;
  float padding[3];
};

/// What chunk_weights() prepares for a run; in device memory.
struct Chunks {
  ChunkRows* rows;        // [sequences, most, key heads]
  ChunkWeights* weights;  // [sequences, most, value heads]
  unsigned most;
};
/// Fills them for all chunks of `sequences` calls: nothing in them depends on the state.
void chunk_weights(CudaQueue& queue, const DeltaNetRowsCuda* calls, std::size_t sequences,
                   const DeltaShapeCuda& shape, const Chunks& chunks);

/// A position's gate: kept ones lie in the cache, later ones in this call's input.
__device__ inline float gate_of(const DeltaNetRowsCuda& call, const DeltaShapeCuda& shape, unsigned head,
                                unsigned position) {
  if (position < call.first) return call.entry_decay[std::size_t{head} * kChunk + position];
  return call.log_decay[std::size_t{position - call.first} * shape.value_heads + head];
}

__device__ inline float4 load4(const float* from) { return *reinterpret_cast<const float4*>(from); }

__device__ inline void store4(float* to, const float (&v)[4]) {
  *reinterpret_cast<float4*>(to) = {v[0], v[1], v[2], v[3]};
}

// Vectors of shared memory reach a warp in two passes where neighbouring lanes, or those two apart, want the
// same ones. A thread's eighth of the rows and its quarter of the columns follow that.
__device__ inline unsigned eighth() { return threadIdx.x % 16 / 2; }
__device__ inline unsigned quarter() { return threadIdx.x % 2 + threadIdx.x % 32 / 16 * 2; }

}  // namespace lanner::kernels
