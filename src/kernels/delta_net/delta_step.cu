// SPDX-License-Identifier: MIT
#include "kernels/delta_net/delta_sums.cuh"

namespace lanner::kernels {
namespace {

// A thread owns one value element, a quarter of the key elements and of the entries. Two blocks share a
// multiprocessor, so that one computes while the other's memory is on its way.
constexpr unsigned kQuarters = 4;
constexpr unsigned kThreads = kMostDim * kQuarters;
static_assert(kKeyBlock * kQuarters == kMostDim && kEntryBlock * kQuarters == kChunk);

// Blocks of key elements lie apart, so that the threads of an entry meet few banks twice.
constexpr unsigned kBlockPitch = kKeyBlock + 4;

struct Shared {
  float keys[kChunk][kQuarters * kBlockPitch];  ///< of the entries, and of the rows
  float values[kChunk][kMostDim];
  float key[kMostDim];
  float query[kMostDim];
  float gates[kChunk];
  float key_weights[kChunk];
  float query_weights[kChunk];
  float state_decay;
  RowSums parts[kQuarters][kMostDim];
  float outputs[kMostDim];
};

__device__ unsigned key_place(unsigned d) { return d / kKeyBlock * kBlockPitch + d % kKeyBlock; }

__device__ void copy16(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(unsigned(__cvta_generic_to_shared(to))),
               "l"(from)
               : "memory");
}

/// Asks for the kept entries.
__device__ void load_entries(Shared& shared, const DeltaNetRowsCuda& call, const DeltaShapeCuda& shape,
                             unsigned head) {
  constexpr unsigned kPieces = kMostDim / 4;
  const bool whole = shape.value_dim % 4 == 0;
  const float* values = call.entry_values + std::size_t{head} * kChunk * shape.value_dim;
  for (unsigned i = threadIdx.x; i < call.first * kPieces; i += kThreads) {
    const unsigned entry = i / kPieces;
    const unsigned d = i % kPieces * 4;
    if (d < shape.key_dim) copy16(&shared.keys[entry][key_place(d)], key_of(call, shape, head, entry) + d);
    if (whole && d < shape.value_dim)
      copy16(&shared.values[entry][d], values + std::size_t{entry} * shape.value_dim + d);
  }
  if (!whole)
    for (unsigned i = threadIdx.x; i < call.first * shape.value_dim; i += kThreads)
      shared.values[i / shape.value_dim][i % shape.value_dim] = values[i];
  asm volatile("cp.async.commit_group;" ::: "memory");
}

__device__ float join(float a, float b, float c, float d) { return ((a + b) + c) + d; }

/// What row t takes of every entry and of the state. Eight threads per entry: four blocks of key elements,
/// for its key and for its query.
__device__ void weigh_entries(Shared& shared, const DeltaShapeCuda& shape, unsigned t) {
  const unsigned entry = threadIdx.x / 8;
  const unsigned block = threadIdx.x % 4;
  const bool for_query = threadIdx.x / 4 % 2 == 1;
  float sum = 0;
  if (entry <= t) {
    const float* k = shared.keys[entry] + block * kBlockPitch;
    const float* other = for_query ? shared.query : shared.key;
#pragma unroll
    for (unsigned i = 0; i < kKeyBlock; i += 4) {
      const unsigned d = block * kKeyBlock + i;
      if (d >= shape.key_dim) break;
      const float4 a = *reinterpret_cast<const float4*>(k + i);
      const float4 b = *reinterpret_cast<const float4*>(other + d);
      sum = fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
    }
  }
  const unsigned lane = threadIdx.x % 32 / 4 * 4;
  const float dot = join(__shfl_sync(0xffffffffU, sum, lane), __shfl_sync(0xffffffffU, sum, lane + 1),
                         __shfl_sync(0xffffffffU, sum, lane + 2), __shfl_sync(0xffffffffU, sum, lane + 3));
  if (entry > t) return;
  const bool for_state = entry == 0 && block == 1 && !for_query;
  if (block != 0 && !for_state) return;
  float log_decay = 0;
  for (unsigned j = for_state ? 0 : entry + 1; j <= t; ++j) log_decay += shared.gates[j];
  const float decay = expf(log_decay);
  if (for_state)
    shared.state_decay = decay;
  else
    (for_query ? shared.query_weights : shared.key_weights)[entry] = decay * dot;
}

// Fast because the state and the entries of a head are asked for at once and stay on the chip for all rows.
__global__ void __launch_bounds__(kThreads, 2)
    delta_step_kernel(const DeltaNetRowsCuda* calls, DeltaShapeCuda shape) {
  begin_kernel();
  extern __shared__ float4 step_memory[];
  auto& shared = *reinterpret_cast<Shared*>(step_memory);
  const DeltaNetRowsCuda call = calls[blockIdx.y];
  const unsigned head = blockIdx.x;
  const unsigned column = threadIdx.x % kMostDim;
  const unsigned quarter = threadIdx.x / kMostDim;
  const bool in_value = column < shape.value_dim;
  const unsigned group = shape.value_heads / shape.key_heads;
  const std::size_t key_width = std::size_t{shape.key_heads} * shape.key_dim;
  const std::size_t stride = 2 * key_width + std::size_t{shape.value_heads} * shape.value_dim;
  float* entry_values = call.entry_values + std::size_t{head} * kChunk * shape.value_dim + column;
  float* entry_decay = call.entry_decay + std::size_t{head} * kChunk;
  load_entries(shared, call, shape, head);
  float state[kKeyBlock];
#pragma unroll
  for (unsigned j = 0; j < kKeyBlock; ++j) {
    const unsigned d = quarter * kKeyBlock + j;
    state[j] = in_value && d < shape.key_dim
                   ? call.state[(std::size_t{head} * shape.key_dim + d) * shape.value_dim + column]
                   : 0.0F;
  }
  if (threadIdx.x < call.first) shared.gates[threadIdx.x] = entry_decay[threadIdx.x];
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  for (unsigned row = 0; row < call.rows; ++row) {
    const unsigned t = call.first + row;
    const float* k = key_of(call, shape, head, t);
    if (threadIdx.x < kMostDim) {
      const float value = threadIdx.x < shape.key_dim ? k[threadIdx.x] : 0.0F;
      shared.key[threadIdx.x] = value;
      shared.keys[t][key_place(threadIdx.x)] = value;
      if (head % group == 0 && threadIdx.x < shape.key_dim)
        call.entry_keys[(std::size_t{head / group} * kChunk + t) * shape.key_dim + threadIdx.x] = value;
    } else if (threadIdx.x < 2 * kMostDim) {
      shared.query[column] = column < shape.key_dim ? k[column - std::ptrdiff_t(key_width)] : 0.0F;
    } else if (threadIdx.x == 2 * kMostDim) {
      shared.gates[t] = entry_decay[t] = call.log_decay[row * shape.value_heads + head];
    }
    float v = 0;
    if (quarter == 0 && in_value)
      v = call.qkv[row * stride + 2 * key_width + std::size_t{head} * shape.value_dim + column];
    __syncthreads();
    weigh_entries(shared, shape, t);
    __syncthreads();
    RowSums mine = {};
#pragma unroll
    for (unsigned j = 0; j < kKeyBlock; ++j) {
      mine.read_key = fmaf(state[j], shared.key[quarter * kKeyBlock + j], mine.read_key);
      mine.read_query = fmaf(state[j], shared.query[quarter * kKeyBlock + j], mine.read_query);
    }
#pragma unroll
    for (unsigned j = 0; j < kEntryBlock; ++j) {
      const unsigned i = quarter * kEntryBlock + j;
      if (i >= t) break;
      const float value = shared.values[i][column];
      mine.key_sum = fmaf(shared.key_weights[i], value, mine.key_sum);
      mine.query_sum = fmaf(shared.query_weights[i], value, mine.query_sum);
    }
    shared.parts[quarter][column] = mine;
    __syncthreads();
    if (quarter == 0 && in_value) {
      const RowSums* p[kQuarters];
#pragma unroll
      for (unsigned i = 0; i < kQuarters; ++i) p[i] = &shared.parts[i][column];
      const RowSums sums = {join(p[0]->read_key, p[1]->read_key, p[2]->read_key, p[3]->read_key),
                            join(p[0]->read_query, p[1]->read_query, p[2]->read_query, p[3]->read_query),
                            join(p[0]->key_sum, p[1]->key_sum, p[2]->key_sum, p[3]->key_sum),
                            join(p[0]->query_sum, p[1]->query_sum, p[2]->query_sum, p[3]->query_sum)};
      const float value =
          pseudo_value(sums, v, call.beta[row * shape.value_heads + head], shared.state_decay);
      entry_values[std::size_t{t} * shape.value_dim] = value;
      shared.values[t][column] = value;
      shared.outputs[column] = row_output(sums, shared.state_decay, shared.query_weights[t], value);
    }
    __syncthreads();
    const std::size_t at = (std::size_t{row} * shape.value_heads + head) * shape.value_dim;
    if (call.z == nullptr) {
      if (quarter == 0 && in_value) call.out[at + column] = shared.outputs[column];
    } else if (threadIdx.x < 32) {
      gated_norm_row(call.out + at, shared.outputs, call.z + at, shape.gain, shape.value_dim, shape.eps);
    }
  }
}

}  // namespace

void delta_step_cuda(CudaQueue& queue, const DeltaNetRowsCuda* calls, std::size_t count,
                     const DeltaShapeCuda& shape) {
  queue.launch(delta_step_kernel, {shape.value_heads, blocks_for(count, 1)}, {kThreads, sizeof(Shared)},
               calls, shape);
}

}  // namespace lanner::kernels
