// SPDX-License-Identifier: MIT
#include "kernels/delta_net/delta_chunks.cuh"

namespace lanner::kernels {
namespace {

constexpr unsigned kThreads = 256;

__device__ void copy16(float* to, const float* from, bool valid) {
  const unsigned address = unsigned(__cvta_generic_to_shared(to));
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes));
}

__device__ void wait_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

/// Asks for the keys of a chunk, or its queries; zeros where there are none.
template <bool kQueries>
__device__ void load_rows(KeyRows& to, const DeltaNetRowsCuda& call, const DeltaShapeCuda& shape,
                          unsigned head, unsigned chunk) {
  const std::size_t width = std::size_t{shape.key_heads} * shape.key_dim;
  const unsigned total = call.first + call.rows;
  const unsigned d = threadIdx.x % 32 * 4;
#pragma unroll
  for (unsigned row = threadIdx.x / 32; row < kChunk; row += kThreads / 32) {
    const unsigned position = chunk * kChunk + row;
    const bool valid = position < total && d < shape.key_dim && (!kQueries || position >= call.first);
    const float* from = call.qkv;
    if (valid) from = key_of(call, shape, head, position) + d - (kQueries ? width : 0);
    copy16(&to[row][d], from, valid);
  }
}

struct PairShared {
  ChunkRows rows;
  float decay[2][kChunk][kChunk + 1];  // of two heads
  float gates[2][kChunk];
};

/// Dot products of pairs (t, i <= t): rows t = row + 16 a and entries i = entry + 16 b, b <= a.
struct PairDots {
  float key[kEntryBlocks][kEntryBlocks] = {};
  float query[kEntryBlocks][kEntryBlocks] = {};

  __device__ void add_block(const PairShared& shared, unsigned row, unsigned entry, unsigned block) {
    PairDots parts;
#pragma unroll 2
    for (unsigned d = block; d < block + kKeyBlock; d += 4) {
      float4 k[kEntryBlocks];
#pragma unroll
      for (unsigned b = 0; b < kEntryBlocks; ++b) k[b] = load4(&shared.rows.keys[entry + kEntryBlock * b][d]);
#pragma unroll
      for (unsigned a = 0; a < kEntryBlocks; ++a) {
        const float4 kt = load4(&shared.rows.keys[row + kEntryBlock * a][d]);
        const float4 qt = load4(&shared.rows.queries[row + kEntryBlock * a][d]);
#pragma unroll
        for (unsigned b = 0; b <= a; ++b) {
          parts.key[a][b] = dot4(k[b], kt, parts.key[a][b]);
          parts.query[a][b] = dot4(k[b], qt, parts.query[a][b]);
        }
      }
    }
#pragma unroll
    for (unsigned a = 0; a < kEntryBlocks; ++a)
#pragma unroll
      for (unsigned b = 0; b <= a; ++b) {
        key[a][b] += parts.key[a][b];
        query[a][b] += parts.query[a][b];
      }
  }

  static __device__ float dot4(const float4& a, const float4& b, float sum) {
    return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
  }
};

/// Decays of one head's chunk by 128 threads: thread i < 64 sums those after entry i, thread 64 all of them.
__device__ void weigh_decays(float (&decay)[kChunk][kChunk + 1], const float (&gates)[kChunk],
                             ChunkWeights& to, unsigned thread) {
  if (thread > kChunk) return;
  const bool for_state = thread == kChunk;
  float log_decay = 0;
#pragma unroll 8
  for (unsigned t = 0; t < kChunk; ++t) {
    log_decay += for_state || t > thread ? gates[t] : 0.0F;
    const float weight = expf(log_decay);
    if (for_state)
      to.state[t] = weight;
    else
      decay[t][thread] = weight;
  }
  if (for_state)
    to.state_at_end = expf(log_decay);
  else
    to.at_end[thread] = expf(log_decay);
}

/// The same for heads `head` and `head` + 1, if it is below `end`, of which `to` is the first; gates and
/// strengths beyond the chunk's rows are 0.
__device__ void weigh_decays(PairShared& shared, const DeltaNetRowsCuda& call, const DeltaShapeCuda& shape,
                             ChunkWeights* to, unsigned head, unsigned end) {
  const unsigned half = threadIdx.x / 128;
  const unsigned thread = threadIdx.x % 128;
  const unsigned position = blockIdx.x * kChunk + thread;
  const bool has_head = head + half < end;
  if (has_head && thread < kChunk) {
    const bool valid = position < call.first + call.rows;
    shared.gates[half][thread] = valid ? gate_of(call, shape, head + half, position) : 0.0F;
    to[half].beta[thread] =
        valid && position >= call.first
            ? call.beta[std::size_t{position - call.first} * shape.value_heads + head + half]
            : 0.0F;
  }
  __syncthreads();
  if (has_head) weigh_decays(shared.decay[half], shared.gates[half], to[half], thread);
}

// One block per (chunk, key head, sequence): its dot products serve all value heads of the key head.
__global__ void __launch_bounds__(kThreads, 2)
    chunk_weights_kernel(const DeltaNetRowsCuda* calls, DeltaShapeCuda shape, Chunks chunks) {
  begin_kernel();
  extern __shared__ float4 pair_memory[];
  auto& shared = *reinterpret_cast<PairShared*>(pair_memory);
  const DeltaNetRowsCuda call = calls[blockIdx.z];
  const unsigned total = call.first + call.rows;
  const unsigned begin = blockIdx.x * kChunk;
  if (begin >= total) return;
  const unsigned group = shape.value_heads / shape.key_heads;
  const unsigned first_head = blockIdx.y * group;
  const std::size_t chunk = std::size_t{blockIdx.z} * chunks.most + blockIdx.x;
  ChunkWeights* to = chunks.weights + chunk * shape.value_heads + first_head;
  load_rows<false>(shared.rows.keys, call, shape, first_head, blockIdx.x);
  load_rows<true>(shared.rows.queries, call, shape, first_head, blockIdx.x);
  weigh_decays(shared, call, shape, to, first_head, first_head + group);
  wait_copies();
  __syncthreads();
  auto* rows = reinterpret_cast<float4*>(chunks.rows + chunk * shape.key_heads + blockIdx.y);
  for (unsigned i = threadIdx.x; i < sizeof(ChunkRows) / sizeof(float4); i += kThreads)
    rows[i] = pair_memory[i];
  const unsigned warp = threadIdx.x / 32;
  const unsigned entry = eighth() + warp % 2 * 8;
  const unsigned row = quarter() + warp / 2 * 4;
  PairDots dots;
  for (unsigned block = 0; block < shape.key_dim; block += kKeyBlock)
    dots.add_block(shared, row, entry, block);
  for (unsigned h = 0; h < group; ++h) {
    if (h > 0 && h % 2 == 0) {
      __syncthreads();
      weigh_decays(shared, call, shape, to + h, first_head + h, first_head + group);
      __syncthreads();
    }
#pragma unroll
    for (unsigned a = 0; a < kEntryBlocks; ++a)
#pragma unroll
      for (unsigned b = 0; b <= a; ++b) {
        const unsigned t = row + kEntryBlock * a;
        const unsigned i = entry + kEntryBlock * b;
        const float decay = shared.decay[h % 2][t][i];
        to[h].key[t][i] = decay * dots.key[a][b];
        to[h].query[t][i] = decay * dots.query[a][b];
      }
  }
}

}  // namespace

void chunk_weights(CudaQueue& queue, const DeltaNetRowsCuda* calls, std::size_t sequences,
                   const DeltaShapeCuda& shape, const Chunks& chunks) {
  queue.launch(chunk_weights_kernel, {chunks.most, shape.key_heads, std::uint32_t(sequences)},
               {kThreads, sizeof(PairShared)}, calls, shape, chunks);
}

}  // namespace lanner::kernels
