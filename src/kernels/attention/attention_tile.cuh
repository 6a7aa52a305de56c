// SPDX-License-Identifier: MIT
// For .cu files: what the attention kernels share.
#pragma once

#include "kernels/attention/attention.cuda.h"
#include "kernels/attention/attention.h"
#include "kernels/cuda/device.cuh"

namespace lanner::kernels {

inline constexpr unsigned kAttentionThreads = 128;
inline constexpr unsigned kPartBlocks = kAttentionPart / kKvBlock;

/// The softmax of one (row, head) so far.
struct Running {
  float largest;
  float sum;
};

/// Where a block of threads stands: rows [first_row, first_row + rows) times the query heads of one kv head.
struct Tile {
  unsigned first_row;
  unsigned rows;
  unsigned group;  ///< query heads of a kv head
  unsigned kv_head;
};

/// Positions that a block of threads walks through.
struct TileRange {
  int begin;
  int end;
  int first_part;
  int end_part;
};

__device__ inline TileRange range_of(const AttentionCudaArgs& args, const Tile& tile) {
  int begin = args.row[tile.first_row].begin;
  int end = args.row[tile.first_row].end;
  for (unsigned r = 1; r < tile.rows; ++r) {
    begin = min(begin, args.row[tile.first_row + r].begin);
    end = max(end, args.row[tile.first_row + r].end);
  }
  return {begin, end, begin / int(kAttentionPart), (end + int(kAttentionPart) - 1) / int(kAttentionPart)};
}

__device__ inline std::size_t query_offset(const AttentionCudaArgs& args, const Tile& tile, unsigned query) {
  const std::size_t row = tile.first_row + query / tile.group;
  return (row * args.q_heads + tile.kv_head * tile.group + query % tile.group) * args.head_dim;
}

/// Factors that join a part to what came before it.
struct Join {
  float before;
  float part;
};

__device__ inline Join join(Running& total, float largest, float sum) {
  const float most = fmaxf(total.largest, largest);
  const Join factors = {expf(total.largest - most), expf(largest - most)};
  total.sum = fmaf(sum, factors.part, total.sum * factors.before);
  total.largest = most;
  return factors;
}

/// Element d of the output of `pair` = row * q_heads + head.
__device__ inline void store_output(const AttentionCudaArgs& args, std::size_t pair, unsigned d,
                                    float value) {
  if (args.gate != nullptr) value = value / (1.0F + expf(-args.gate[pair * args.gate_head + d]));
  args.out[pair * args.head_dim + d] = value;
}

template <typename T>
__device__ inline const T* head_of(const void* block, const AttentionCudaArgs& args, const Tile& tile) {
  return static_cast<const T*>(block) + std::size_t{tile.kv_head} * kKvBlock * args.head_dim;
}

/// A warp per query: weights of 64 keys replace their scores. Shared: scores, correction, largest and sum by
/// query.
template <unsigned kWarps, typename Shared>
__device__ inline void soften_block(Shared& shared, const Tile& tile) {
  const unsigned lane = threadIdx.x % 32;
  for (unsigned q = threadIdx.x / 32; q < tile.rows * tile.group; q += kWarps) {
    const float a = shared.scores[q][lane];
    const float b = shared.scores[q][lane + 32];
    const float before = shared.largest[q];
    const float largest = fmaxf(before, warp_max(fmaxf(a, b)));
    const bool any = largest > -INFINITY;
    const float wa = any ? expf(a - largest) : 0.0F;
    const float wb = any ? expf(b - largest) : 0.0F;
    const float correction = any ? expf(before - largest) : 1.0F;
    const float sum = warp_sum(wa + wb);
    shared.scores[q][lane] = wa;
    shared.scores[q][lane + 32] = wb;
    __syncwarp();
    if (lane == 0) {
      shared.correction[q] = correction;
      shared.largest[q] = largest;
      shared.sum[q] = fmaf(shared.sum[q], correction, sum);
    }
  }
}

}  // namespace lanner::kernels
