// SPDX-License-Identifier: MIT
#include "kernels/cuda/device.cuh"
#include "kernels/delta_net/delta_net.cuda.h"
#include "kernels/delta_net/delta_net.h"

namespace lanner::kernels {
namespace {

constexpr unsigned kChunk = kDeltaChunk;
constexpr unsigned kColumns = 32;  // value elements of a block
constexpr unsigned kStrands = 4;   // threads per value element
constexpr unsigned kThreads = kColumns * kStrands;

/// Weights of the entries for one value head: what row t takes of entry i, for its key and for its query; and
/// what it takes of the state.
struct PairWeights {
  float key[kChunk][kChunk];
  float query[kChunk][kChunk];
  float state[kChunk];
};

__device__ float dot4(const float* a, const float* b, unsigned count) {
  float4 sums = {};
  for (unsigned i = 0; i < count; i += 4) {
    const float4 x = *reinterpret_cast<const float4*>(a + i);
    const float4 y = *reinterpret_cast<const float4*>(b + i);
    sums.x = fmaf(x.x, y.x, sums.x);
    sums.y = fmaf(x.y, y.y, sums.y);
    sums.z = fmaf(x.z, y.z, sums.z);
    sums.w = fmaf(x.w, y.w, sums.w);
  }
  return (sums.x + sums.y) + (sums.z + sums.w);
}

__device__ const float* key_of(const DeltaNetRowsCuda& call, const DeltaShapeCuda& shape, unsigned head,
                               unsigned t) {
  const std::size_t width = std::size_t{shape.key_heads} * shape.key_dim;
  const unsigned key_head = head / (shape.value_heads / shape.key_heads);
  if (t < call.first) return call.entry_keys + (std::size_t{key_head} * kChunk + t) * shape.key_dim;
  const std::size_t stride = 2 * width + std::size_t{shape.value_heads} * shape.value_dim;
  return call.qkv + (t - call.first) * stride + width + std::size_t{key_head} * shape.key_dim;
}

// One block per (row, value head, sequence), one thread per entry. The first value head of a key head also
// keeps the row's key; every head its decay.
__global__ void pair_weights_kernel(const DeltaNetRowsCuda* calls, DeltaShapeCuda shape,
                                    PairWeights* weights) {
  begin_kernel();
  const DeltaNetRowsCuda call = calls[blockIdx.z];
  if (blockIdx.x >= call.rows) return;
  const unsigned t = call.first + blockIdx.x;
  const unsigned head = blockIdx.y;
  const unsigned group = shape.value_heads / shape.key_heads;
  PairWeights& to = weights[std::size_t{blockIdx.z} * shape.value_heads + head];
  __shared__ float gates[kChunk];
  const unsigned i = threadIdx.x;
  float* entry_decay = call.entry_decay + std::size_t{head} * kChunk;
  if (i <= t)
    gates[i] = i < call.first ? entry_decay[i] : call.log_decay[(i - call.first) * shape.value_heads + head];
  __syncthreads();
  const float* k = key_of(call, shape, head, t);
  const float* q = k - std::size_t{shape.key_heads} * shape.key_dim;
  if (i <= t) {
    // Summed from the near end, never as a difference.
    float log_decay = 0;
    for (unsigned j = t; j > i; --j) log_decay += gates[j];
    const float decay = expf(log_decay);
    const float* entry = key_of(call, shape, head, i);
    to.key[t][i] = decay * dot4(entry, k, shape.key_dim);
    to.query[t][i] = decay * dot4(entry, q, shape.key_dim);
    if (i == 0) to.state[t] = expf(log_decay + gates[0]);
  }
  if (i == t) entry_decay[t] = gates[t];
  if (head % group == 0) {
    float* entry = call.entry_keys + (std::size_t{head / group} * kChunk + t) * shape.key_dim;
    for (unsigned d = threadIdx.x; d < shape.key_dim; d += blockDim.x) entry[d] = k[d];
  }
}

/// What the state gives to a row's key and query, one value element.
struct Reads {
  float key;
  float query;
};

__device__ float join_strands(float sum) {
  sum += __shfl_xor_sync(0xffffffffU, sum, 1);
  return sum + __shfl_xor_sync(0xffffffffU, sum, 2);
}

/// What a block of delta_rows_kernel() keeps at hand; sizes in floats of the dynamic part.
struct RowsMemory {
  float* state;    ///< [key_dim, 32]
  float* keys;     ///< [rows, key_dim]
  float* queries;  ///< [rows, key_dim]
  float* pairs;    ///< [rows, 64] for keys, then for queries

  __host__ __device__ static std::size_t floats(unsigned rows, unsigned key_dim) {
    return std::size_t{key_dim} * kColumns + 2 * std::size_t{rows} * key_dim + 2 * std::size_t{rows} * kChunk;
  }
};

__device__ RowsMemory load_rows(float* memory, const DeltaNetRowsCuda& call, const DeltaShapeCuda& shape,
                                const PairWeights& pairs, unsigned head, unsigned first_column,
                                unsigned rows) {
  RowsMemory m;
  m.state = memory;
  m.keys = m.state + std::size_t{shape.key_dim} * kColumns;
  m.queries = m.keys + std::size_t{rows} * shape.key_dim;
  m.pairs = m.queries + std::size_t{rows} * shape.key_dim;
  const unsigned columns = min(kColumns, shape.value_dim - first_column);
  const float* state = call.state + std::size_t{head} * shape.key_dim * shape.value_dim + first_column;
  const std::size_t key_width = std::size_t{shape.key_heads} * shape.key_dim;
#pragma unroll 8
  for (unsigned i = threadIdx.x; i < shape.key_dim * kColumns; i += kThreads)
    m.state[i] =
        i % kColumns < columns ? state[std::size_t{i / kColumns} * shape.value_dim + i % kColumns] : 0.0F;
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < call.rows * shape.key_dim; i += kThreads) {
    const float* k = key_of(call, shape, head, call.first + i / shape.key_dim) + i % shape.key_dim;
    m.keys[i] = *k;
    m.queries[i] = *(k - key_width);
  }
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < call.rows * kChunk; i += kThreads) {
    const unsigned t = call.first + i / kChunk;
    if (i % kChunk > t) continue;
    m.pairs[i] = pairs.key[t][i % kChunk];
    m.pairs[rows * kChunk + i] = pairs.query[t][i % kChunk];
  }
  return m;
}

/// Rows row, row + 4, ... read the state for one value element, keys in ascending order.
template <unsigned kRows>
__device__ void read_state(Reads (&reads)[kRows], const RowsMemory& m, unsigned own, unsigned row,
                           unsigned rows, unsigned key_dim) {
  for (unsigned d = 0; d < key_dim; d += 4) {
    float s[4];
#pragma unroll
    for (unsigned j = 0; j < 4; ++j) s[j] = m.state[(d + j) * kColumns + own];
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r) {
      if (row + r * kStrands >= rows) break;
      const float4 k = *reinterpret_cast<const float4*>(m.keys + (row + r * kStrands) * key_dim + d);
      const float4 q = *reinterpret_cast<const float4*>(m.queries + (row + r * kStrands) * key_dim + d);
      reads[r].key = fmaf(s[3], k.w, fmaf(s[2], k.z, fmaf(s[1], k.y, fmaf(s[0], k.x, reads[r].key))));
      reads[r].query = fmaf(s[3], q.w, fmaf(s[2], q.z, fmaf(s[1], q.y, fmaf(s[0], q.x, reads[r].query))));
    }
  }
}

// A block owns 32 value elements of one head: rows read the state in parallel, then pseudo-values follow one
// by one. Fast because the state, the rows and the weights of entries are read from memory once.
__global__ void __launch_bounds__(kThreads)
    delta_rows_kernel(const DeltaNetRowsCuda* calls, DeltaShapeCuda shape, const PairWeights* weights,
                      unsigned rows) {
  begin_kernel();
  extern __shared__ float memory[];
  const DeltaNetRowsCuda call = calls[blockIdx.z];
  const unsigned head = blockIdx.y;
  const PairWeights& pairs = weights[std::size_t{blockIdx.z} * shape.value_heads + head];
  __shared__ float u[kChunk][kColumns];
  __shared__ Reads reads[kChunk][kColumns];
  const unsigned first_column = blockIdx.x * kColumns;
  const unsigned columns = min(kColumns, shape.value_dim - first_column);
  float* entry_values = call.entry_values + std::size_t{head} * kChunk * shape.value_dim + first_column;
  const std::size_t key_width = std::size_t{shape.key_heads} * shape.key_dim;
  const std::size_t stride = 2 * key_width + std::size_t{shape.value_heads} * shape.value_dim;
  const RowsMemory m = load_rows(memory, call, shape, pairs, head, first_column, rows);
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < call.first * kColumns; i += kThreads)
    u[i / kColumns][i % kColumns] =
        i % kColumns < columns ? entry_values[std::size_t{i / kColumns} * shape.value_dim + i % kColumns]
                               : 0.0F;
  __syncthreads();
  {
    constexpr unsigned kRows = kChunk / kStrands;
    const unsigned own = threadIdx.x % kColumns;
    const unsigned row = threadIdx.x / kColumns;
    Reads mine[kRows] = {};
    read_state(mine, m, own, row, call.rows, shape.key_dim);
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r)
      if (row + r * kStrands < call.rows) reads[row + r * kStrands][own] = mine[r];
  }
  __syncthreads();
  const unsigned column = threadIdx.x / kStrands;
  const unsigned strand = threadIdx.x % kStrands;
  for (unsigned row = 0; row < call.rows; ++row) {
    const unsigned t = call.first + row;
    const float* key_pairs = m.pairs + row * kChunk;
    const float* query_pairs = m.pairs + (rows + row) * kChunk;
    // Asked for before the sums, which do not need them.
    float v = 0;
    float beta = 0;
    float decay = 0;
    if (strand == 0 && column < columns) {
      v = call.qkv[row * stride + 2 * key_width + std::size_t{head} * shape.value_dim + first_column +
                   column];
      beta = call.beta[row * shape.value_heads + head];
      decay = pairs.state[t];
    }
    float key_sum = 0;
    float query_sum = 0;
    for (unsigned i = strand; i < t; i += kStrands) {
      key_sum = fmaf(key_pairs[i], u[i][column], key_sum);
      query_sum = fmaf(query_pairs[i], u[i][column], query_sum);
    }
    key_sum = join_strands(key_sum);
    query_sum = join_strands(query_sum);
    if (strand == 0 && column < columns) {
      const float value = beta * (v - fmaf(decay, reads[row][column].key, key_sum));
      u[t][column] = value;
      entry_values[std::size_t{t} * shape.value_dim + column] = value;
      const float out = fmaf(decay, reads[row][column].query, query_sum);
      call.out[(std::size_t{row} * shape.value_heads + head) * shape.value_dim + first_column + column] =
          fmaf(query_pairs[t], value, out);
    }
    __syncwarp();
  }
}

// One thread per element of the state of a head; blockIdx.x counts key elements.
__global__ void delta_fold_kernel(const DeltaFoldCuda* calls, DeltaShapeCuda shape) {
  begin_kernel();
  const DeltaFoldCuda call = calls[blockIdx.z];
  const unsigned head = blockIdx.y;
  const unsigned d = blockIdx.x;
  const unsigned key_head = head / (shape.value_heads / shape.key_heads);
  const float* gates = call.entry_decay + std::size_t{head} * kChunk;
  __shared__ float weight[kChunk + 1];
  if (threadIdx.x <= call.entries) {
    // Thread e sums the decays after entry e - 1; thread 0 all of them.
    float log_decay = 0;
    for (unsigned j = call.entries; j > threadIdx.x; --j) log_decay += gates[j - 1];
    const float decay = expf(log_decay);
    weight[threadIdx.x] =
        threadIdx.x == 0
            ? decay
            : decay * call.entry_keys[(std::size_t{key_head} * kChunk + threadIdx.x - 1) * shape.key_dim + d];
  }
  __syncthreads();
  const float* u = call.entry_values + std::size_t{head} * kChunk * shape.value_dim;
  for (unsigned column = threadIdx.x; column < shape.value_dim; column += blockDim.x) {
    const std::size_t at = (std::size_t{head} * shape.key_dim + d) * shape.value_dim + column;
    float sum = weight[0] * call.state[at];
    for (unsigned i = 0; i < call.entries; ++i)
      sum = fmaf(weight[i + 1], u[std::size_t{i} * shape.value_dim + column], sum);
    call.next_state[at] = sum;
  }
}

}  // namespace

std::size_t delta_net_cuda_scratch_bytes(std::size_t count, const DeltaShapeCuda& shape) {
  return count * shape.value_heads * sizeof(PairWeights);
}

void delta_net_cuda(CudaQueue& queue, const DeltaNetRowsCuda* calls, std::size_t count, std::size_t rows,
                    const DeltaShapeCuda& shape, float* scratch) {
  auto* weights = reinterpret_cast<PairWeights*>(scratch);
  queue.launch(pair_weights_kernel, {blocks_for(rows, 1), shape.value_heads, blocks_for(count, 1)}, {kChunk},
               calls, shape, weights);
  queue.launch(delta_rows_kernel,
               {blocks_for(shape.value_dim, kColumns), shape.value_heads, blocks_for(count, 1)},
               {kThreads, RowsMemory::floats(unsigned(rows), shape.key_dim) * sizeof(float)}, calls, shape,
               weights, rows);
}

void delta_fold_cuda(CudaQueue& queue, const DeltaFoldCuda* calls, std::size_t count,
                     const DeltaShapeCuda& shape) {
  queue.launch(delta_fold_kernel, {shape.key_dim, shape.value_heads, blocks_for(count, 1)}, {kThreads}, calls,
               shape);
}

}  // namespace lanner::kernels
