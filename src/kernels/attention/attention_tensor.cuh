// SPDX-License-Identifier: MIT
// For .cu files: what attention by tensor cores shares, so that its bits agree.
#pragma once

#include "kernels/attention/attention_tile.cuh"

namespace lanner::kernels {

inline constexpr unsigned kBlock = kKvBlock;
inline constexpr unsigned kParts = 3;                 // BF16 numbers that make up a float
inline constexpr unsigned kScoreStride = kBlock + 8;  // so that lanes of a fragment meet different banks

/// For kTiles * 16 (row, head) pairs.
template <unsigned kTiles>
struct TensorShared {
  float scores[kTiles * 16][kScoreStride];
  float correction[kTiles * 16];
  float largest[kTiles * 16];
  float sum[kTiles * 16];
};

/// Halves of a query row in shared memory, padded likewise.
template <unsigned kDim>
inline constexpr unsigned kQueryStride = kDim + 32;

__device__ inline std::uint32_t bf16_pair(float a, float b) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(a, b);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}

/// Where a block stands.
__device__ inline Tile block_tile(const AttentionCudaArgs& args, unsigned rows_per_tile) {
  Tile tile;
  tile.group = unsigned(args.q_heads / args.kv_heads);
  tile.first_row = blockIdx.x * rows_per_tile;
  tile.rows = min(rows_per_tile, unsigned(args.rows) - tile.first_row);
  tile.kv_head = blockIdx.y;
  return tile;
}

/// Two floats as kParts pairs whose sum they are.
__device__ inline void split_pair(std::uint32_t (&parts)[kParts], float a, float b) {
#pragma unroll
  for (unsigned i = 0; i < kParts; ++i) {
    parts[i] = bf16_pair(a, b);
    a -= __uint_as_float(parts[i] << 16);
    b -= __uint_as_float(parts[i] & 0xffff0000U);
  }
}

/// Elements d and d + 1 of query q.
template <unsigned kTiles, unsigned kDim>
__device__ inline void store_query_pair(std::uint16_t* queries, unsigned q, unsigned d, const float2& x) {
  std::uint32_t parts[kParts];
  split_pair(parts, x.x, x.y);
#pragma unroll
  for (unsigned part = 0; part < kParts; ++part)
    *reinterpret_cast<std::uint32_t*>(queries + (part * kTiles * 16 + q) * kQueryStride<kDim> + d) =
        parts[part];
}

__device__ inline void multiply_add_bf16(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                         std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace lanner::kernels
