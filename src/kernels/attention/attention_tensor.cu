// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/attention/attention_tensor.cuh"
#include "kernels/attention/attention_tensor.h"

namespace lanner::kernels {
namespace {

constexpr unsigned kThreads = kAttentionThreads;
constexpr unsigned kWarps = kThreads / 32;

/// Scores of 16 keys, those of this warp, for all queries. A lane reads 8 neighbouring elements of a key and
/// of a query: both take the same order, so that their products meet.
template <unsigned kTiles, unsigned kDim>
__device__ void score_block(TensorShared<kTiles>& shared, const std::uint16_t* queries,
                            const AttentionCudaArgs& args, const Tile& tile, const __nv_bfloat16* keys,
                            int position) {
  constexpr unsigned kUnits = kDim / 32;
  constexpr unsigned kTogether = kUnits < 4 ? kUnits : 4;
  const unsigned lane = threadIdx.x % 32;
  const unsigned first = threadIdx.x / 32 * 16;
  const auto* k = reinterpret_cast<const uint4*>(keys + std::size_t{first + lane / 4} * kDim) + lane % 4;
  float scores[kTiles][2][4] = {};
  for (unsigned unit = 0; unit < kUnits; unit += kTogether) {
    uint4 ahead[kTogether][2];
#pragma unroll
    for (unsigned j = 0; j < kTogether; ++j)
#pragma unroll
      for (unsigned n = 0; n < 2; ++n) ahead[j][n] = k[n * kDim + (unit + j) * 4];
#pragma unroll
    for (unsigned j = 0; j < kTogether; ++j)
#pragma unroll
      for (unsigned m = 0; m < kTiles; ++m)
#pragma unroll
        for (unsigned part = 0; part < kParts; ++part) {
          const std::uint16_t* row = queries + (part * kTiles * 16 + m * 16 + lane / 4) * kQueryStride<kDim> +
                                     (unit + j) * 32 + lane % 4 * 8;
          const uint4 upper = *reinterpret_cast<const uint4*>(row);
          const uint4 lower = *reinterpret_cast<const uint4*>(row + 8 * kQueryStride<kDim>);
          const std::uint32_t steps[2][4] = {{upper.x, lower.x, upper.y, lower.y},
                                             {upper.z, lower.z, upper.w, lower.w}};
#pragma unroll
          for (unsigned n = 0; n < 2; ++n) {
            multiply_add_bf16(scores[m][n], steps[0], ahead[j][n].x, ahead[j][n].y);
            multiply_add_bf16(scores[m][n], steps[1], ahead[j][n].z, ahead[j][n].w);
          }
        }
  }
#pragma unroll
  for (unsigned m = 0; m < kTiles; ++m)
#pragma unroll
    for (unsigned n = 0; n < 2; ++n)
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        const unsigned q = m * 16 + lane / 4 + i / 2 * 8;
        const unsigned key = first + n * 8 + lane % 4 * 2 + i % 2;
        if (q >= tile.rows * tile.group) continue;
        const AttentionRowCuda& row = args.row[tile.first_row + q / tile.group];
        const int at = position + int(key);
        shared.scores[q][key] = at >= row.begin && at < row.end ? scores[m][n][i] * args.scale : -INFINITY;
      }
}

/// A warp owns a quarter of the value elements: column n of its tile j is element 8 neighbouring lanes apart,
/// so that a lane reads kColumns neighbours of a value.
template <unsigned kDim>
struct Values {
  static constexpr unsigned kColumns = kDim / kWarps / 8;  // tiles of 8 elements of a warp: 2, 4, 8 or 16
  static constexpr unsigned kWords = kColumns / 2;
  std::uint32_t rows[4][kWords];  // keys 2t, 2t + 1, 2t + 8, 2t + 9 of a step

  __device__ void load(const __nv_bfloat16* values, unsigned step, int position, const TileRange& range) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned column = threadIdx.x / 32 * (kDim / kWarps) + lane / 4 * kColumns;
#pragma unroll
    for (unsigned r = 0; r < 4; ++r) {
      const unsigned key = step * 16 + lane % 4 * 2 + r % 2 + r / 2 * 8;
      const int at = position + int(key);
      const auto* from = reinterpret_cast<const std::uint32_t*>(values + std::size_t{key} * kDim + column);
      // What lies outside may be anything, and zero times that is not always zero.
      const bool inside = at >= range.begin && at < range.end;
#pragma unroll
      for (unsigned w = 0; w < kWords; ++w) rows[r][w] = 0;
      if (!inside) continue;
      if constexpr (kWords >= 4) {
#pragma unroll
        for (unsigned w = 0; w < kWords; w += 4) {
          const uint4 v = *reinterpret_cast<const uint4*>(from + w);
          rows[r][w] = v.x;
          rows[r][w + 1] = v.y;
          rows[r][w + 2] = v.z;
          rows[r][w + 3] = v.w;
        }
      } else {
#pragma unroll
        for (unsigned w = 0; w < kWords; ++w) rows[r][w] = from[w];
      }
    }
  }

  /// The two registers of tile j.
  __device__ std::uint32_t first(unsigned j) const { return pick(rows[0][j / 2], rows[1][j / 2], j); }
  __device__ std::uint32_t second(unsigned j) const { return pick(rows[2][j / 2], rows[3][j / 2], j); }

 private:
  __device__ static std::uint32_t pick(std::uint32_t a, std::uint32_t b, unsigned j) {
    return __byte_perm(a, b, j % 2 == 0 ? 0x5410 : 0x7632);
  }
};

template <unsigned kTiles, unsigned kDim>
using Sums = float[kTiles][Values<kDim>::kColumns][4];

template <unsigned kTiles, unsigned kDim>
__device__ void add_values(Sums<kTiles, kDim>& sums, const TensorShared<kTiles>& shared,
                           const __nv_bfloat16* values, int position, const TileRange& range) {
  constexpr unsigned kColumns = Values<kDim>::kColumns;
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (unsigned m = 0; m < kTiles; ++m)
#pragma unroll
    for (unsigned j = 0; j < kColumns; ++j)
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) sums[m][j][i] *= shared.correction[m * 16 + lane / 4 + i / 2 * 8];
#pragma unroll
  for (unsigned step = 0; step < kBlock / 16; ++step) {
    Values<kDim> v;
    v.load(values, step, position, range);
#pragma unroll
    for (unsigned m = 0; m < kTiles; ++m) {
      std::uint32_t weights[4][kParts];
#pragma unroll
      for (unsigned r = 0; r < 4; ++r) {
        const float* at = &shared.scores[m * 16 + lane / 4 + r % 2 * 8][step * 16 + lane % 4 * 2 + r / 2 * 8];
        split_pair(weights[r], at[0], at[1]);
      }
#pragma unroll
      for (unsigned part = 0; part < kParts; ++part) {
        const std::uint32_t a[4] = {weights[0][part], weights[1][part], weights[2][part], weights[3][part]};
#pragma unroll
        for (unsigned j = 0; j < kColumns; ++j) multiply_add_bf16(sums[m][j], a, v.first(j), v.second(j));
      }
    }
  }
}

/// Calls use(query, element, i) for every sum of this thread.
template <unsigned kTiles, unsigned kDim, typename Use>
__device__ void for_sums(unsigned count, Use&& use) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (unsigned m = 0; m < kTiles; ++m)
#pragma unroll
    for (unsigned j = 0; j < Values<kDim>::kColumns; ++j)
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        const unsigned q = m * 16 + lane / 4 + i / 2 * 8;
        const unsigned d =
            threadIdx.x / 32 * (kDim / kWarps) + (lane % 4 * 2 + i % 2) * Values<kDim>::kColumns + j;
        if (q < count) use(q, d, m, j, i);
      }
}

/// One part of 256 positions for every query of the tile.
template <unsigned kTiles, unsigned kDim>
__device__ void run_part(Sums<kTiles, kDim>& sums, TensorShared<kTiles>& shared, const std::uint16_t* queries,
                         const AttentionCudaArgs& args, const Tile& tile, const TileRange& range, int part) {
  if (threadIdx.x < kTiles * 16) {
    shared.largest[threadIdx.x] = -INFINITY;
    shared.sum[threadIdx.x] = 0;
  }
#pragma unroll
  for (unsigned m = 0; m < kTiles; ++m)
#pragma unroll
    for (unsigned j = 0; j < Values<kDim>::kColumns; ++j)
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) sums[m][j][i] = 0;
  const AttentionRowCuda& row = args.row[tile.first_row];
  __syncthreads();
  for (int block = part * int(kPartBlocks); block < (part + 1) * int(kPartBlocks); ++block) {
    const int position = block * int(kBlock);
    if (position + int(kBlock) <= range.begin || position >= range.end) continue;
    score_block<kTiles, kDim>(shared, queries, args, tile,
                              head_of<__nv_bfloat16>(row.keys[block - row.first_block], args, tile),
                              position);
    __syncthreads();
    soften_block<kWarps>(shared, tile);
    __syncthreads();
    add_values<kTiles, kDim>(sums, shared,
                             head_of<__nv_bfloat16>(row.values[block - row.first_block], args, tile),
                             position, range);
    __syncthreads();
  }
}

/// Queries of the tile as BF16 parts, those beyond its count as zeros.
template <unsigned kTiles, unsigned kDim>
__device__ void load_queries(std::uint16_t* queries, const AttentionCudaArgs& args, const Tile& tile) {
  const unsigned count = tile.rows * tile.group;
  for (unsigned i = threadIdx.x; i < kTiles * 16 * kDim / 2; i += kThreads) {
    const unsigned q = i / (kDim / 2);
    const unsigned d = i % (kDim / 2) * 2;
    float2 x = {};
    if (q < count) x = *reinterpret_cast<const float2*>(args.q + query_offset(args, tile, q) + d);
    store_query_pair<kTiles, kDim>(queries, q, d, x);
  }
}

/// All parts of the tile's queries, or with kSplit the one of this block.
template <unsigned kTiles, unsigned kDim, bool kSplit>
__device__ void attend_tile(TensorShared<kTiles>& shared, const std::uint16_t* queries,
                            const AttentionCudaArgs& args, const Tile& tile, const TileRange& range) {
  const unsigned count = tile.rows * tile.group;
  for (unsigned i = threadIdx.x; i < kTiles * 16 * kBlock; i += kThreads)
    shared.scores[i / kBlock][i % kBlock] = 0;
  if (threadIdx.x < kTiles * 16) shared.correction[threadIdx.x] = 1;
  Sums<kTiles, kDim> sums;
  if constexpr (kSplit) {
    run_part<kTiles, kDim>(sums, shared, queries, args, tile, range, range.first_part + int(blockIdx.z));
    const auto part_of = [&](unsigned q) {
      return args.scratch + (query_offset(args, tile, q) / kDim * args.parts + blockIdx.z) * (kDim + 2);
    };
    for_sums<kTiles, kDim>(count, [&](unsigned q, unsigned d, unsigned m, unsigned j, unsigned i) {
      part_of(q)[2 + d] = sums[m][j][i];
    });
    if (threadIdx.x < count) {
      part_of(threadIdx.x)[0] = shared.largest[threadIdx.x];
      part_of(threadIdx.x)[1] = shared.sum[threadIdx.x];
    }
  } else {
    Sums<kTiles, kDim> totals = {};
    Running running[kTiles][2];
#pragma unroll
    for (unsigned m = 0; m < kTiles; ++m) running[m][0] = running[m][1] = {-INFINITY, 0};
    for (int part = range.first_part; part < range.end_part; ++part) {
      run_part<kTiles, kDim>(sums, shared, queries, args, tile, range, part);
#pragma unroll
      for (unsigned m = 0; m < kTiles; ++m)
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
          const unsigned q = m * 16 + threadIdx.x % 32 / 4 + half * 8;
          const float largest = shared.largest[q];
          if (!(largest > -INFINITY)) continue;
          const Join factors = join(running[m][half], largest, shared.sum[q]);
#pragma unroll
          for (unsigned j = 0; j < Values<kDim>::kColumns; ++j)
#pragma unroll
            for (unsigned i = 2 * half; i < 2 * half + 2; ++i)
              totals[m][j][i] = fmaf(sums[m][j][i], factors.part, totals[m][j][i] * factors.before);
        }
      __syncthreads();
    }
    for_sums<kTiles, kDim>(count, [&](unsigned q, unsigned d, unsigned m, unsigned j, unsigned i) {
      store_output(args, query_offset(args, tile, q) / kDim, d, totals[m][j][i] / running[m][i / 2].sum);
    });
  }
}

// Fast because keys and values go straight from memory to the tensor cores of the one warp that needs them.
template <unsigned kTiles, unsigned kDim, bool kSplit>
__global__ void __launch_bounds__(kThreads)
    attention_tensor_kernel(AttentionCudaArgs args, unsigned rows_per_tile) {
  begin_kernel();
  __shared__ TensorShared<kTiles> shared;
  extern __shared__ uint4 query_memory[];
  auto* queries = reinterpret_cast<std::uint16_t*>(query_memory);
  const Tile tile = block_tile(args, rows_per_tile);
  const TileRange range = range_of(args, tile);
  if (kSplit && range.first_part + int(blockIdx.z) >= range.end_part) return;
  load_queries<kTiles, kDim>(queries, args, tile);
  attend_tile<kTiles, kDim, kSplit>(shared, queries, args, tile, range);
}

template <unsigned kTiles, unsigned kDim>
void run(CudaQueue& queue, const AttentionCudaArgs& args, bool split) {
  const auto group = unsigned(args.q_heads / args.kv_heads);
  const unsigned per_tile = split || !args.one_sequence ? 1 : std::max(1U, kTiles * 16 / group);
  const Grid grid = {blocks_for(args.rows, per_tile), blocks_for(args.kv_heads, 1),
                     split ? blocks_for(args.parts, 1) : 1U};
  const Block block = {kThreads, std::size_t{kParts} * kTiles * 16 * kQueryStride<kDim> * 2};
  if (split) return queue.launch(attention_tensor_kernel<kTiles, kDim, true>, grid, block, args, per_tile);
  queue.launch(attention_tensor_kernel<kTiles, kDim, false>, grid, block, args, per_tile);
}

template <unsigned kDim>
void run_for_rows(CudaQueue& queue, const AttentionCudaArgs& args, bool split) {
  const bool many = !split && args.one_sequence && args.rows * (args.q_heads / args.kv_heads) > 16;
  if (many && kDim <= 256) return run < kDim <= 256 ? 2 : 1, kDim > (queue, args, split);
  run<1, kDim>(queue, args, split);
}

}  // namespace

bool can_use_tensor_cores(const AttentionCudaArgs& args) {
  const bool known =
      args.head_dim == 64 || args.head_dim == 128 || args.head_dim == 256 || args.head_dim == 512;
  return known && args.type == KvType::kBF16 && args.q_heads / args.kv_heads <= 16;
}

void attention_tensor_cuda(CudaQueue& queue, const AttentionCudaArgs& args, bool split) {
  switch (args.head_dim) {
    case 64:
      return run_for_rows<64>(queue, args, split);
    case 128:
      return run_for_rows<128>(queue, args, split);
    case 256:
      return run_for_rows<256>(queue, args, split);
    default:
      return run_for_rows<512>(queue, args, split);
  }
}

}  // namespace lanner::kernels
