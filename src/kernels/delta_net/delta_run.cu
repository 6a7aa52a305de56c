// SPDX-License-Identifier: MIT
#include "kernels/delta_net/delta_sums.cuh"

namespace lanner::kernels {
namespace {

/// Weights of one head's chunk: what row t takes of entry i for its key and its query, and of the state; what
/// the state after the chunk takes of entry i, and of the state before. Zero where a chunk has no such row.
struct ChunkWeights {
  float key[kChunk][kChunk];
  float query[kChunk][kChunk];
  float state[kChunk];
  float at_end[kChunk];
  float state_at_end;
  float padding[3];
};

/// A position's gate: kept ones lie in the cache, later ones in this call's input.
__device__ float gate_of(const DeltaNetRowsCuda& call, const DeltaShapeCuda& shape, unsigned head,
                         unsigned position) {
  if (position < call.first) return call.entry_decay[std::size_t{head} * kChunk + position];
  return call.log_decay[std::size_t{position - call.first} * shape.value_heads + head];
}

constexpr unsigned kPairThreads = 256;
constexpr unsigned kPairStride = kChunk + 4;  // of a key element's row

struct PairShared {
  float keys[kMostDim][kPairStride];  // turned, so that four neighbouring rows are one load
  float queries[kMostDim][kPairStride];
  float decay[kChunk][kChunk + 1];
  float gates[kChunk];
};

// One block per (chunk, head, sequence); a thread forms 4 by 4 pairs.
__global__ void __launch_bounds__(kPairThreads)
    chunk_weights_kernel(const DeltaNetRowsCuda* calls, DeltaShapeCuda shape, ChunkWeights* weights) {
  begin_kernel();
  extern __shared__ float4 pair_memory[];
  auto& shared = *reinterpret_cast<PairShared*>(pair_memory);
  const DeltaNetRowsCuda call = calls[blockIdx.z];
  const unsigned total = call.first + call.rows;
  const unsigned begin = blockIdx.x * kChunk;
  if (begin >= total) return;
  const unsigned rows = min(kChunk, total - begin);
  const unsigned head = blockIdx.y;
  const std::size_t key_width = std::size_t{shape.key_heads} * shape.key_dim;
  ChunkWeights& to = weights[(std::size_t{blockIdx.z} * gridDim.x + blockIdx.x) * shape.value_heads + head];
  for (unsigned i = threadIdx.x; i < kChunk * kMostDim; i += kPairThreads) {
    const unsigned row = i / kMostDim;
    const unsigned d = i % kMostDim;
    const bool valid = row < rows && d < shape.key_dim;
    const float* k = valid ? key_of(call, shape, head, begin + row) + d : nullptr;
    shared.keys[d][row] = valid ? *k : 0.0F;
    shared.queries[d][row] = valid && begin + row >= call.first ? *(k - std::ptrdiff_t(key_width)) : 0.0F;
  }
  if (threadIdx.x < kChunk)
    shared.gates[threadIdx.x] = threadIdx.x < rows ? gate_of(call, shape, head, begin + threadIdx.x) : 0.0F;
  __syncthreads();
  if (threadIdx.x < kChunk) {
    const unsigned i = threadIdx.x;
    float log_decay = 0;
    for (unsigned t = i; t < kChunk; ++t) {
      if (t > i) log_decay += shared.gates[t];
      shared.decay[t][i] = expf(log_decay);
      if (t + 1 == rows) to.at_end[i] = shared.decay[t][i];
    }
  } else if (threadIdx.x == kChunk) {
    float log_decay = 0;
    for (unsigned t = 0; t < rows; ++t) {
      log_decay += shared.gates[t];
      to.state[t] = expf(log_decay);
    }
    to.state_at_end = expf(log_decay);
  }
  const unsigned t0 = threadIdx.x / 16 * 4;
  const unsigned i0 = threadIdx.x % 16 * 4;
  float key_dots[4][4] = {};
  float query_dots[4][4] = {};
  for (unsigned block = 0; block < shape.key_dim; block += kKeyBlock) {
    float key_parts[4][4] = {};
    float query_parts[4][4] = {};
#pragma unroll 4
    for (unsigned d = block; d < block + kKeyBlock; ++d) {
      const float4 k = *reinterpret_cast<const float4*>(&shared.keys[d][i0]);
      const float4 kt = *reinterpret_cast<const float4*>(&shared.keys[d][t0]);
      const float4 qt = *reinterpret_cast<const float4*>(&shared.queries[d][t0]);
      const float entry[4] = {k.x, k.y, k.z, k.w};
      const float key[4] = {kt.x, kt.y, kt.z, kt.w};
      const float query[4] = {qt.x, qt.y, qt.z, qt.w};
#pragma unroll
      for (unsigned a = 0; a < 4; ++a)
#pragma unroll
        for (unsigned b = 0; b < 4; ++b) {
          key_parts[a][b] = fmaf(entry[b], key[a], key_parts[a][b]);
          query_parts[a][b] = fmaf(entry[b], query[a], query_parts[a][b]);
        }
    }
#pragma unroll
    for (unsigned a = 0; a < 4; ++a)
#pragma unroll
      for (unsigned b = 0; b < 4; ++b) {
        key_dots[a][b] += key_parts[a][b];
        query_dots[a][b] += query_parts[a][b];
      }
  }
  __syncthreads();
#pragma unroll
  for (unsigned a = 0; a < 4; ++a) {
    const unsigned t = t0 + a;
    float4 key;
    float4 query;
    float* keys = &key.x;
    float* queries = &query.x;
#pragma unroll
    for (unsigned b = 0; b < 4; ++b) {
      const bool pair = t < rows && i0 + b <= t;
      keys[b] = pair ? shared.decay[t][i0 + b] * key_dots[a][b] : 0.0F;
      queries[b] = pair ? shared.decay[t][i0 + b] * query_dots[a][b] : 0.0F;
    }
    *reinterpret_cast<float4*>(&to.key[t][i0]) = key;
    *reinterpret_cast<float4*>(&to.query[t][i0]) = query;
  }
}

constexpr unsigned kThreads = 512;
constexpr unsigned kColumns = 32;                         // value elements of a block: a lane each
constexpr unsigned kRows = kChunk / (kThreads / 32);      // of a warp: 4
constexpr unsigned kFolded = kMostDim / (kThreads / 32);  // key elements that a warp folds: 8

struct RunShared {
  float state[kMostDim][kColumns];
  float keys[2][kChunk][kMostDim];
  float queries[kChunk][kMostDim];
  float key_weights[kChunk][kChunk];
  float query_weights[kChunk][kChunk];
  float values[kChunk][kColumns];
};

__device__ void copy16(void* to, const void* from, bool valid) {
  const unsigned address = unsigned(__cvta_generic_to_shared(to));
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes));
}

__device__ void commit_copies() { asm volatile("cp.async.commit_group;"); }

__device__ void wait_copies() { asm volatile("cp.async.wait_group 0;" ::: "memory"); }

/// One sequence's run through one head and 32 value elements.
class Run {
 public:
  __device__ Run(RunShared& shared, const DeltaNetRowsCuda& call, const DeltaShapeCuda& shape,
                 const ChunkWeights* weights, unsigned head)
      : shared_(shared),
        call_(call),
        shape_(shape),
        weights_(weights),
        head_(head),
        total_(call.first + call.rows),
        column_(blockIdx.x * kColumns + threadIdx.x % 32),
        in_value_(column_ < shape.value_dim) {}

  __device__ void operator()() {
    const unsigned chunks = (total_ + kChunk - 1) / kChunk;
    load_state();
    load_keys(0);
    load_queries(0);
    load_weights(0);
    commit_copies();
    bool folded = false;
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
      wait_copies();
      __syncthreads();
      if (chunk + 1 < chunks) load_keys(chunk + 1);
      commit_copies();
      load_values(chunk);
      read_state(chunk);
      __syncthreads();
      if (chunk + 1 < chunks) load_queries(chunk + 1);
      commit_copies();
      follow(chunk);
      store_rows(chunk);
      if (chunk + 1 < chunks) load_weights(chunk + 1);
      commit_copies();
      if (call_.next_state != nullptr && (chunk + 1) * kChunk <= total_) {
        fold(chunk);
        folded = true;
      } else {
        keep(chunk);
      }
    }
    if (!folded) return;
    for (unsigned d = threadIdx.x / 32 * kFolded; d < threadIdx.x / 32 * kFolded + kFolded; ++d)
      if (in_value_ && d < shape_.key_dim)
        call_.next_state[(std::size_t{head_} * shape_.key_dim + d) * shape_.value_dim + column_] =
            shared_.state[d][threadIdx.x % 32];
  }

 private:
  __device__ const ChunkWeights& weights(unsigned chunk) const {
    return weights_[std::size_t{chunk} * shape_.value_heads];
  }

  __device__ void load_state() {
    for (unsigned d = threadIdx.x / 32; d < kMostDim; d += kThreads / 32)
      shared_.state[d][threadIdx.x % 32] =
          in_value_ && d < shape_.key_dim
              ? call_.state[(std::size_t{head_} * shape_.key_dim + d) * shape_.value_dim + column_]
              : 0.0F;
  }

  __device__ void load_keys(unsigned chunk) {
    for (unsigned i = threadIdx.x; i < kChunk * kMostDim / 4; i += kThreads) {
      const unsigned row = i / (kMostDim / 4);
      const unsigned d = i % (kMostDim / 4) * 4;
      const unsigned position = chunk * kChunk + row;
      const bool valid = position < total_ && d < shape_.key_dim;
      copy16(&shared_.keys[chunk % 2][row][d], valid ? key_of(call_, shape_, head_, position) + d : call_.qkv,
             valid);
    }
  }

  __device__ void load_queries(unsigned chunk) {
    const std::ptrdiff_t key_width = std::ptrdiff_t{shape_.key_heads} * shape_.key_dim;
    for (unsigned i = threadIdx.x; i < kChunk * kMostDim / 4; i += kThreads) {
      const unsigned row = i / (kMostDim / 4);
      const unsigned d = i % (kMostDim / 4) * 4;
      const unsigned position = chunk * kChunk + row;
      const bool valid = position >= call_.first && position < total_ && d < shape_.key_dim;
      copy16(&shared_.queries[row][d],
             valid ? key_of(call_, shape_, head_, position) - key_width + d : call_.qkv, valid);
    }
  }

  __device__ void load_weights(unsigned chunk) {
    const auto* key = reinterpret_cast<const float4*>(weights(chunk).key);
    const auto* query = reinterpret_cast<const float4*>(weights(chunk).query);
    for (unsigned i = threadIdx.x; i < kChunk * kChunk / 4; i += kThreads) {
      copy16(reinterpret_cast<float4*>(shared_.key_weights) + i, key + i, true);
      copy16(reinterpret_cast<float4*>(shared_.query_weights) + i, query + i, true);
    }
  }

  __device__ unsigned first_row() const { return threadIdx.x / 32 * kRows; }

  /// What this warp's rows need later is asked for early: v and beta, or of kept rows the pseudo-value
  /// itself.
  __device__ void load_values(unsigned chunk) {
    const std::size_t key_width = std::size_t{shape_.key_heads} * shape_.key_dim;
    const std::size_t stride = 2 * key_width + std::size_t{shape_.value_heads} * shape_.value_dim;
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r) {
      const unsigned position = chunk * kChunk + first_row() + r;
      v_[r] = beta_[r] = decay_[r] = 0;
      if (position >= total_ || !in_value_) continue;
      if (position < call_.first) {
        v_[r] = call_.entry_values[(std::size_t{head_} * kChunk + position) * shape_.value_dim + column_];
        continue;
      }
      const std::size_t row = position - call_.first;
      v_[r] = call_.qkv[row * stride + 2 * key_width + std::size_t{head_} * shape_.value_dim + column_];
      beta_[r] = call_.beta[row * shape_.value_heads + head_];
      decay_[r] = weights(chunk).state[first_row() + r];
    }
  }

  /// Reads of the state by this warp's rows; then its keys are weighted for the fold.
  __device__ void read_state(unsigned chunk) {
    const unsigned lane = threadIdx.x % 32;
    auto& keys = shared_.keys[chunk % 2];
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r) read_key_[r] = read_query_[r] = 0;
    for (unsigned block = 0; block < shape_.key_dim; block += kKeyBlock) {
      float key_parts[kRows] = {};
      float query_parts[kRows] = {};
      for (unsigned d = block; d < block + kKeyBlock; d += 4) {
        float s[4];
#pragma unroll
        for (unsigned j = 0; j < 4; ++j) s[j] = shared_.state[d + j][lane];
#pragma unroll
        for (unsigned r = 0; r < kRows; ++r) {
          const float4 k = *reinterpret_cast<const float4*>(&keys[first_row() + r][d]);
          const float4 q = *reinterpret_cast<const float4*>(&shared_.queries[first_row() + r][d]);
          key_parts[r] = fmaf(s[3], k.w, fmaf(s[2], k.z, fmaf(s[1], k.y, fmaf(s[0], k.x, key_parts[r]))));
          query_parts[r] = fmaf(s[3], q.w, fmaf(s[2], q.z, fmaf(s[1], q.y, fmaf(s[0], q.x, query_parts[r]))));
        }
      }
#pragma unroll
      for (unsigned r = 0; r < kRows; ++r) {
        read_key_[r] += key_parts[r];
        read_query_[r] += query_parts[r];
      }
    }
    __syncwarp();
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r) {
      const float weight = weights(chunk).at_end[first_row() + r];
      float4& k = *reinterpret_cast<float4*>(&keys[first_row() + r][lane * 4]);
      k = {weight * k.x, weight * k.y, weight * k.z, weight * k.w};
    }
  }

  /// Pseudo-values one after the other: a warp finishes its rows, then the later warps take them up.
  __device__ void follow(unsigned chunk) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    float keys[kRows] = {};  // sums of whole blocks of entries
    float queries[kRows] = {};
    float key_parts[kRows] = {};  // of the block that is not whole yet
    float query_parts[kRows] = {};
    for (unsigned from = 0; from < kChunk / kRows; ++from) {
      if (warp == from) finish_rows(chunk, keys, queries, key_parts, query_parts);
      __syncthreads();
      if (warp <= from) continue;
#pragma unroll
      for (unsigned i = 0; i < kRows; i += 4) {
        float u[4];
#pragma unroll
        for (unsigned j = 0; j < 4; ++j) u[j] = shared_.values[from * kRows + i + j][lane];
#pragma unroll
        for (unsigned r = 0; r < kRows; ++r) {
          const float4 k =
              *reinterpret_cast<const float4*>(&shared_.key_weights[first_row() + r][from * kRows + i]);
          const float4 q =
              *reinterpret_cast<const float4*>(&shared_.query_weights[first_row() + r][from * kRows + i]);
          key_parts[r] = fmaf(k.w, u[3], fmaf(k.z, u[2], fmaf(k.y, u[1], fmaf(k.x, u[0], key_parts[r]))));
          query_parts[r] = fmaf(q.w, u[3], fmaf(q.z, u[2], fmaf(q.y, u[1], fmaf(q.x, u[0], query_parts[r]))));
        }
      }
      if ((from + 1) * kRows % kEntryBlock != 0) continue;
#pragma unroll
      for (unsigned r = 0; r < kRows; ++r) {
        keys[r] += key_parts[r];
        queries[r] += query_parts[r];
        key_parts[r] = query_parts[r] = 0;
      }
    }
  }

  __device__ void finish_rows(unsigned chunk, const float (&keys)[kRows], const float (&queries)[kRows],
                              float (&key_parts)[kRows], float (&query_parts)[kRows]) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r) {
      const unsigned t = first_row() + r;
      const unsigned position = chunk * kChunk + t;
      // Asked for before the row's value is known.
      float key_weights[kRows];
      float query_weights[kRows];
#pragma unroll
      for (unsigned later = r + 1; later < kRows; ++later) {
        key_weights[later] = shared_.key_weights[first_row() + later][t];
        query_weights[later] = shared_.query_weights[first_row() + later][t];
      }
      float value = v_[r];
      if (position >= call_.first) {
        const RowSums sums = {read_key_[r], read_query_[r], keys[r] + key_parts[r],
                              queries[r] + query_parts[r]};
        value = pseudo_value(sums, v_[r], beta_[r], decay_[r]);
        out_[r] = row_output(sums, decay_[r], shared_.query_weights[t][t], value);
      }
      shared_.values[t][lane] = value;
#pragma unroll
      for (unsigned later = r + 1; later < kRows; ++later) {
        key_parts[later] = fmaf(key_weights[later], value, key_parts[later]);
        query_parts[later] = fmaf(query_weights[later], value, query_parts[later]);
      }
    }
  }

  __device__ void store_rows(unsigned chunk) {
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r) {
      const unsigned position = chunk * kChunk + first_row() + r;
      if (position >= call_.first && position < total_ && in_value_)
        call_.out[(std::size_t{position - call_.first} * shape_.value_heads + head_) * shape_.value_dim +
                  column_] = out_[r];
    }
  }

  /// The state after the chunk; a warp owns kFolded key elements.
  __device__ void fold(unsigned chunk) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned first = threadIdx.x / 32 * kFolded;
    const float decay = weights(chunk).state_at_end;
    float sums[kFolded];
#pragma unroll
    for (unsigned j = 0; j < kFolded; ++j) sums[j] = decay * shared_.state[first + j][lane];
#pragma unroll 2
    for (unsigned i = 0; i < kChunk; ++i) {
      const float u = shared_.values[i][lane];
#pragma unroll
      for (unsigned j = 0; j < kFolded; j += 4) {
        const float4 k = *reinterpret_cast<const float4*>(&shared_.keys[chunk % 2][i][first + j]);
        sums[j] = fmaf(k.x, u, sums[j]);
        sums[j + 1] = fmaf(k.y, u, sums[j + 1]);
        sums[j + 2] = fmaf(k.z, u, sums[j + 2]);
        sums[j + 3] = fmaf(k.w, u, sums[j + 3]);
      }
    }
#pragma unroll
    for (unsigned j = 0; j < kFolded; ++j) shared_.state[first + j][lane] = sums[j];
  }

  /// The pseudo-values of the chunk that stays open. Its keys and gates follow in keep_entries_kernel(), when
  /// no block reads the old ones any more.
  __device__ void keep(unsigned chunk) {
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r) {
      const unsigned t = first_row() + r;
      const unsigned position = chunk * kChunk + t;
      if (position >= call_.first && position < total_ && in_value_)
        call_.entry_values[(std::size_t{head_} * kChunk + t) * shape_.value_dim + column_] =
            shared_.values[t][threadIdx.x % 32];
    }
  }

  RunShared& shared_;
  const DeltaNetRowsCuda& call_;
  const DeltaShapeCuda& shape_;
  const ChunkWeights* weights_;
  unsigned head_;
  unsigned total_;
  unsigned column_;
  bool in_value_;
  float v_[kRows];
  float beta_[kRows];
  float decay_[kRows];
  float read_key_[kRows];
  float read_query_[kRows];
  float out_[kRows];
};

// Fast because the state stays in shared memory for the whole prompt and the next chunk's rows are on their
// way while a chunk is computed.
__global__ void __launch_bounds__(kThreads, 1)
    delta_run_kernel(const DeltaNetRowsCuda* calls, DeltaShapeCuda shape, const ChunkWeights* weights,
                     unsigned most_chunks) {
  begin_kernel();
  extern __shared__ float4 run_memory[];
  const DeltaNetRowsCuda call = calls[blockIdx.z];
  const ChunkWeights* own = weights + std::size_t{blockIdx.z} * most_chunks * shape.value_heads + blockIdx.y;
  Run run(*reinterpret_cast<RunShared*>(run_memory), call, shape, own, blockIdx.y);
  run();
}

// One block per (row of the open chunk, sequence).
__global__ void keep_entries_kernel(const DeltaNetRowsCuda* calls, DeltaShapeCuda shape) {
  begin_kernel();
  const DeltaNetRowsCuda call = calls[blockIdx.y];
  const unsigned total = call.first + call.rows;
  const unsigned begin = call.next_state == nullptr ? 0 : total / kChunk * kChunk;
  const unsigned position = begin + blockIdx.x;
  if (position < call.first || position >= total) return;
  const unsigned group = shape.value_heads / shape.key_heads;
  for (unsigned i = threadIdx.x; i < shape.key_heads * shape.key_dim; i += blockDim.x) {
    const unsigned head = i / shape.key_dim;
    call.entry_keys[(std::size_t{head} * kChunk + blockIdx.x) * shape.key_dim + i % shape.key_dim] =
        key_of(call, shape, head * group, position)[i % shape.key_dim];
  }
  for (unsigned head = threadIdx.x; head < shape.value_heads; head += blockDim.x)
    call.entry_decay[std::size_t{head} * kChunk + blockIdx.x] = gate_of(call, shape, head, position);
}

std::size_t most_chunks(std::size_t most_rows) { return (most_rows + kChunk - 1) / kChunk + 1; }

}  // namespace

std::size_t delta_run_cuda_scratch_bytes(std::size_t count, std::size_t most, const DeltaShapeCuda& shape) {
  return count * most_chunks(most) * shape.value_heads * sizeof(ChunkWeights);
}

void delta_run_cuda(CudaQueue& queue, const DeltaNetRowsCuda* calls, std::size_t count, std::size_t most,
                    const DeltaShapeCuda& shape, float* scratch) {
  auto* weights = reinterpret_cast<ChunkWeights*>(scratch);
  const auto chunks = std::uint32_t(most_chunks(most));
  const auto sequences = std::uint32_t(count);
  queue.launch(chunk_weights_kernel, {chunks, shape.value_heads, sequences},
               {kPairThreads, sizeof(PairShared)}, calls, shape, weights);
  queue.launch(delta_run_kernel, {blocks_for(shape.value_dim, kColumns), shape.value_heads, sequences},
               {kThreads, sizeof(RunShared)}, calls, shape, weights, chunks);
  queue.launch(keep_entries_kernel, {kChunk, sequences}, {256}, calls, shape);
}

}  // namespace lanner::kernels
