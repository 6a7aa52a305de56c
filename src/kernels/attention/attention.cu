// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/attention/attention_tensor.h"
#include "kernels/attention/attention_tile.cuh"
#include "kernels/attention/kv_codes.cuh"

namespace lanner::kernels {
namespace {

constexpr unsigned kThreads = kAttentionThreads;
constexpr unsigned kBlock = kKvBlock;

/// For kQueries (row, head) pairs.
template <unsigned kQueries>
struct Shared {
  float scores[kQueries][kBlock];
  float correction[kQueries];
  float largest[kQueries];
  float sum[kQueries];
};

// Two threads per key, half of the head each, against all queries.
template <typename Rows, unsigned kQueries>
__device__ void score_block(Shared<kQueries>& shared, const float* queries, const AttentionCudaArgs& args,
                            const Tile& tile, const Rows& keys, int position) {
  const unsigned key = threadIdx.x / 2;
  const unsigned half = unsigned(args.head_dim) / 2;
  const unsigned from = threadIdx.x % 2 * half;
  float dots[kQueries] = {};
  // Keys are asked for several steps ahead.
  constexpr unsigned kTogether = kQueries <= 8 ? 8 : 4;
  for (unsigned first = 0; first < half; first += 4 * kTogether) {
    float4 ahead[kTogether];
#pragma unroll
    for (unsigned j = 0; j < kTogether; ++j)
      if (first + 4 * j < half) ahead[j] = keys.four(key, from + first + 4 * j);
#pragma unroll
    for (unsigned j = 0; j < kTogether; ++j) {
      const unsigned i = first + 4 * j;
      if (i >= half) break;
      const float4 v = ahead[j];
#pragma unroll
      for (unsigned q = 0; q < kQueries; ++q) {
        const float4 x = *reinterpret_cast<const float4*>(queries + q * args.head_dim + from + i);
        dots[q] = fmaf(x.x, v.x, dots[q]);
        dots[q] = fmaf(x.y, v.y, dots[q]);
        dots[q] = fmaf(x.z, v.z, dots[q]);
        dots[q] = fmaf(x.w, v.w, dots[q]);
      }
    }
  }
  const int at = position + int(key);
#pragma unroll
  for (unsigned q = 0; q < kQueries; ++q) {
    const float dot = dots[q] + __shfl_xor_sync(0xffffffffU, dots[q], 1);
    if (threadIdx.x % 2 != 0 || q >= tile.rows * tile.group) continue;
    const AttentionRowCuda& row = args.row[tile.first_row + q / tile.group];
    shared.scores[q][key] = at >= row.begin && at < row.end ? dot * args.scale : -INFINITY;
  }
}

// Each thread owns every 128th element of all queries.
template <typename Rows, unsigned kParts, unsigned kQueries>
__device__ void add_values(float (&sums)[kQueries][kParts], const Shared<kQueries>& shared,
                           const AttentionCudaArgs& args, const Rows& values) {
#pragma unroll
  for (unsigned q = 0; q < kQueries; ++q)
#pragma unroll
    for (unsigned i = 0; i < kParts; ++i) sums[q][i] *= shared.correction[q];
#pragma unroll(kQueries <= 8 ? 4 : 2)
  for (unsigned key = 0; key < kBlock; key += 4) {
    float v[4][kParts];
#pragma unroll
    for (unsigned j = 0; j < 4; ++j)
#pragma unroll
      for (unsigned i = 0; i < kParts; ++i) {
        const unsigned d = threadIdx.x + i * kThreads;
        v[j][i] = d < args.head_dim ? values.one(key + j, d) : 0.0F;
      }
#pragma unroll
    for (unsigned q = 0; q < kQueries; ++q) {
      const float4 w = *reinterpret_cast<const float4*>(&shared.scores[q][key]);
#pragma unroll
      for (unsigned i = 0; i < kParts; ++i) {
        sums[q][i] = fmaf(w.x, v[0][i], sums[q][i]);
        sums[q][i] = fmaf(w.y, v[1][i], sums[q][i]);
        sums[q][i] = fmaf(w.z, v[2][i], sums[q][i]);
        sums[q][i] = fmaf(w.w, v[3][i], sums[q][i]);
      }
    }
  }
}

/// One part of 256 positions for every query of the tile.
template <typename Rows, unsigned kParts, unsigned kQueries>
__device__ void run_part(float (&sums)[kQueries][kParts], Shared<kQueries>& shared, const float* queries,
                         const AttentionCudaArgs& args, const Tile& tile, int part, int begin, int end) {
  if (threadIdx.x < kQueries) {
    shared.largest[threadIdx.x] = -INFINITY;
    shared.sum[threadIdx.x] = 0;
  }
#pragma unroll
  for (unsigned q = 0; q < kQueries; ++q)
#pragma unroll
    for (unsigned i = 0; i < kParts; ++i) sums[q][i] = 0;
  const AttentionRowCuda& row = args.row[tile.first_row];
  __syncthreads();
  for (int block = part * int(kPartBlocks); block < (part + 1) * int(kPartBlocks); ++block) {
    if ((block + 1) * int(kBlock) <= begin || block * int(kBlock) >= end) continue;
    score_block(shared, queries, args, tile, Rows(row.keys[block - row.first_block], args, tile.kv_head),
                block * int(kBlock));
    __syncthreads();
    soften_block<kThreads / 32>(shared, tile);
    __syncthreads();
    add_values<Rows, kParts, kQueries>(sums, shared, args,
                                       Rows(row.values[block - row.first_block], args, tile.kv_head));
    __syncthreads();
  }
}

// Fast enough for few rows because keys and values are read once for all query heads that share them, and
// parts of a long context go to different blocks.
template <typename Rows, unsigned kParts, unsigned kQueries, bool kSplit>
__global__ void __launch_bounds__(kThreads) attention_kernel(AttentionCudaArgs args, unsigned rows_per_tile) {
  begin_kernel();
  __shared__ Shared<kQueries> shared;
  extern __shared__ float queries[];
  Tile tile;
  tile.group = unsigned(args.q_heads / args.kv_heads);
  tile.first_row = blockIdx.x * rows_per_tile;
  tile.rows = min(rows_per_tile, unsigned(args.rows) - tile.first_row);
  tile.kv_head = blockIdx.y;
  const unsigned count = tile.rows * tile.group;
  const auto [begin, end, first_part, end_part] = range_of(args, tile);
  if (kSplit && first_part + int(blockIdx.z) >= end_part) return;
  for (unsigned i = threadIdx.x; i < kQueries * args.head_dim; i += kThreads) {
    const unsigned q = i / unsigned(args.head_dim);
    queries[i] = q < count ? args.q[query_offset(args, tile, q) + i % args.head_dim] : 0.0F;
  }
  for (unsigned i = threadIdx.x; i < kQueries * kBlock; i += kThreads)
    shared.scores[i / kBlock][i % kBlock] = 0;
  if (threadIdx.x < kQueries) shared.correction[threadIdx.x] = 1;
  float sums[kQueries][kParts];
  if constexpr (kSplit) {
    run_part<Rows, kParts, kQueries>(sums, shared, queries, args, tile, first_part + int(blockIdx.z), begin,
                                     end);
    const std::size_t stride = args.head_dim + 2;
#pragma unroll
    for (unsigned q = 0; q < kQueries; ++q) {
      if (q >= count) break;
      float* to =
          args.scratch + (query_offset(args, tile, q) / args.head_dim * args.parts + blockIdx.z) * stride;
#pragma unroll
      for (unsigned i = 0; i < kParts; ++i)
        if (threadIdx.x + i * kThreads < args.head_dim) to[2 + threadIdx.x + i * kThreads] = sums[q][i];
      if (threadIdx.x == 0) {
        to[0] = shared.largest[q];
        to[1] = shared.sum[q];
      }
    }
  } else {
    float totals[kQueries][kParts] = {};
    Running running[kQueries];
#pragma unroll
    for (unsigned q = 0; q < kQueries; ++q) running[q] = {-INFINITY, 0};
    for (int part = first_part; part < end_part; ++part) {
      run_part<Rows, kParts, kQueries>(sums, shared, queries, args, tile, part, begin, end);
#pragma unroll
      for (unsigned q = 0; q < kQueries; ++q) {
        const float largest = shared.largest[q];
        if (!(largest > -INFINITY)) continue;
        const Join factors = join(running[q], largest, shared.sum[q]);
#pragma unroll
        for (unsigned i = 0; i < kParts; ++i)
          totals[q][i] = fmaf(sums[q][i], factors.part, totals[q][i] * factors.before);
      }
      __syncthreads();
    }
#pragma unroll
    for (unsigned q = 0; q < kQueries; ++q) {
      if (q >= count) break;
#pragma unroll
      for (unsigned i = 0; i < kParts; ++i)
        if (threadIdx.x + i * kThreads < args.head_dim)
          store_output(args, query_offset(args, tile, q) / args.head_dim, threadIdx.x + i * kThreads,
                       totals[q][i] / running[q].sum);
    }
  }
}

// Joins the parts of one (row, head) in ascending order.
__global__ void join_parts_kernel(AttentionCudaArgs args) {
  begin_kernel();
  const std::size_t pair = blockIdx.x;
  const AttentionRowCuda& row = args.row[pair / args.q_heads];
  const int parts =
      (row.end + int(kAttentionPart) - 1) / int(kAttentionPart) - row.begin / int(kAttentionPart);
  const std::size_t stride = args.head_dim + 2;
  const float* from = args.scratch + pair * args.parts * stride;
  Running running = {-INFINITY, 0};
  float total[4] = {};
  for (int part = 0; part < parts; ++part, from += stride) {
    if (!(from[0] > -INFINITY)) continue;
    const Join factors = join(running, from[0], from[1]);
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned d = threadIdx.x + i * kThreads;
      if (d < args.head_dim) total[i] = fmaf(from[2 + d], factors.part, total[i] * factors.before);
    }
  }
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned d = threadIdx.x + i * kThreads;
    if (d < args.head_dim) store_output(args, pair, d, total[i] / running.sum);
  }
}

constexpr unsigned kWriters = 4;  // warps, of a head each

__global__ void write_kv_kernel(const KvRowCuda* rows, unsigned kv_heads, unsigned head_dim, KvType type,
                                unsigned bits) {
  begin_kernel();
  const KvRowCuda& row = rows[blockIdx.x];
  for (unsigned head = threadIdx.x / 32; head < kv_heads; head += kWriters)
    write_kv_head(row.to, row.from + std::size_t{head} * head_dim, head, head_dim, type, bits);
}

constexpr unsigned kMostQueries = 16;

unsigned group_of(const AttentionCudaArgs& args) { return unsigned(args.q_heads / args.kv_heads); }

bool splits(const AttentionCudaArgs& args, int multiprocessors) {
  return args.parts > 1 && args.rows * args.kv_heads < 2 * std::size_t(multiprocessors);
}

template <typename Rows, unsigned kParts, unsigned kQueries>
void run(CudaQueue& queue, const AttentionCudaArgs& args, unsigned per_tile, bool split) {
  const Grid grid = {blocks_for(args.rows, per_tile), blocks_for(args.kv_heads, 1),
                     split ? blocks_for(args.parts, 1) : 1U};
  const Block block = {kThreads, kQueries * args.head_dim * sizeof(float)};
  if (!split)
    return queue.launch(attention_kernel<Rows, kParts, kQueries, false>, grid, block, args, per_tile);
  queue.launch(attention_kernel<Rows, kParts, kQueries, true>, grid, block, args, per_tile);
  queue.launch(join_parts_kernel, {blocks_for(args.rows * args.q_heads, 1)}, {kThreads}, args);
}

template <typename Rows, unsigned kParts>
void run_for_queries(CudaQueue& queue, const AttentionCudaArgs& args) {
  const bool split = splits(args, queue.multiprocessors());
  const unsigned per_tile = split || !args.one_sequence ? 1 : std::max(1U, kMostQueries / group_of(args));
  const std::size_t queries = std::min<std::size_t>(per_tile, args.rows) * group_of(args);
  if (queries <= 4) return run<Rows, kParts, 4>(queue, args, per_tile, split);
  if (queries <= 8) return run<Rows, kParts, 8>(queue, args, per_tile, split);
  run<Rows, kParts, kMostQueries>(queue, args, per_tile, split);
}

template <typename Rows>
void run_for_head(CudaQueue& queue, const AttentionCudaArgs& args) {
  if (args.head_dim <= 128) return run_for_queries<Rows, 1>(queue, args);
  if (args.head_dim <= 256) return run_for_queries<Rows, 2>(queue, args);
  run_for_queries<Rows, 4>(queue, args);
}

}  // namespace

std::size_t attention_cuda_scratch_bytes(const AttentionCudaArgs& args, int multiprocessors) {
  if (!splits(args, multiprocessors)) return 0;
  return args.rows * args.q_heads * args.parts * (args.head_dim + 2) * sizeof(float);
}

void attention_cuda(CudaQueue& queue, const AttentionCudaArgs& args) {
  if (can_use_tensor_cores(args)) {
    const bool split = splits(args, queue.multiprocessors());
    attention_tensor_cuda(queue, args, split);
    if (split) queue.launch(join_parts_kernel, {blocks_for(args.rows * args.q_heads, 1)}, {kThreads}, args);
    return;
  }
  switch (args.type) {
    case KvType::kF32:
      return run_for_head<FloatRows<float>>(queue, args);
    case KvType::kBF16:
      return run_for_head<FloatRows<__nv_bfloat16>>(queue, args);
    default:
      return run_for_head<CodeRows>(queue, args);
  }
}

bool can_attend_heads(const AttentionHeadsCudaArgs& heads, const AttentionCudaArgs& attention) {
  return can_use_tensor_cores(attention) && attention.head_dim >= 128 && attention.head_dim <= 512 &&
         (heads.k == nullptr || (heads.kv_heads == attention.kv_heads && heads.type == attention.type));
}

void attend_heads_cuda(CudaQueue& queue, const AttentionHeadsCudaArgs& heads,
                       const AttentionCudaArgs& attention) {
  const bool split = splits(attention, queue.multiprocessors());
  attend_heads_tensor_cuda(queue, heads, attention, split);
  if (split)
    queue.launch(join_parts_kernel, {blocks_for(attention.rows * attention.q_heads, 1)}, {kThreads},
                 attention);
}

void write_kv_cuda(CudaQueue& queue, const KvRowCuda* rows, std::size_t count, std::size_t kv_heads,
                   std::size_t head_dim, KvType type) {
  queue.launch(write_kv_kernel, {blocks_for(count, 1)}, {32 * kWriters}, rows, kv_heads, head_dim, type,
               unsigned(code_bits(type)));
}

}  // namespace lanner::kernels
