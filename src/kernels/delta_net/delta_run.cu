// SPDX-License-Identifier: MIT
#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/delta_net/delta_chunks.cuh"

namespace lanner::kernels {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kColumns = 32;            // value elements of a block
constexpr unsigned kSolvers = kEntryBlocks;  // warps that solve for pseudo-values: a block of entries each
constexpr unsigned kTile = 4;                // a thread's sums: 4 rows by 4 columns

using Tile = float[kTile][kTile];

struct RunShared {
  float state[kMostDim / 4][4 * kColumns + 4];  // key elements in fours, which eight lanes fold at a time
  KeyRows keys[2];
  KeyRows queries;
  ChunkWeights weights;
  float values[kChunk][kColumns + 4];  // the state read by a row's key, until its pseudo-value is there
  std::uint64_t keys_there[2];
  std::uint64_t rest_there;
  std::uint64_t reads_there;                 // what solvers add to the values
  std::uint64_t values_there[kEntryBlocks];  // pseudo-values of a block of entries
};

/// One sequence's run through one head and 32 value elements. Of a chunk, all warps read the state by its
/// keys; then four of them solve for pseudo-values while the others read by queries and sum up outputs; then
/// all fold.
class Run {
 public:
  __device__ Run(RunShared& shared, const DeltaNetRowsCuda& call, const DeltaShapeCuda& shape,
                 const Chunks& chunks)
      : shared_(shared),
        call_(call),
        shape_(shape),
        head_(blockIdx.y),
        rows_(chunks.rows + std::size_t{blockIdx.z} * chunks.most * shape.key_heads +
              head_ / (shape.value_heads / shape.key_heads)),
        weights_(chunks.weights + std::size_t{blockIdx.z} * chunks.most * shape.value_heads + head_),
        total_(call.first + call.rows),
        first_column_(blockIdx.x * kColumns),
        warp_(threadIdx.x / 32),
        lane_(threadIdx.x % 32) {}

  __device__ void operator()() {
    const unsigned chunks = (total_ + kChunk - 1) / kChunk;
    const unsigned folds = call_.next_state == nullptr ? 0 : total_ / kChunk;
    if (threadIdx.x == 0) {
      for (auto* barrier : {&shared_.keys_there[0], &shared_.keys_there[1], &shared_.rest_there})
        init_barrier(barrier, 1);
      init_barrier(&shared_.reads_there, kSolvers * 32);
      for (auto& barrier : shared_.values_there) init_barrier(&barrier, 32);
      fence_barriers();
      load_keys(0);
      load_rest(0);
    }
    load_state();
    __syncthreads();
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
      if (threadIdx.x == 0 && chunk + 1 < chunks) load_keys(chunk + 1);
      Solver solver;
      if (warp_ < kSolvers) load_values(solver, chunk);
      wait_bulk(&shared_.keys_there[chunk % 2], chunk / 2 % 2);
      read_by_keys(chunk);
      wait_bulk(&shared_.rest_there, chunk % 2);
      if (warp_ < kSolvers) {
        solve(solver, chunk, chunk < folds);
        if (chunk >= folds) keep(solver, chunk);
      } else {
        write_rows(chunk);
      }
      const float decay = shared_.weights.state_at_end;
      __syncthreads();
      if (threadIdx.x == 0 && chunk + 1 < chunks) load_rest(chunk + 1);
      if (chunk < folds) fold(chunk, decay);
      __syncthreads();
    }
    if (folds == 0) return;
    const unsigned column = first_column_ + lane_;
    for (unsigned d = warp_; d < shape_.key_dim; d += kThreads / 32)
      if (column < shape_.value_dim) call_.next_state[state_at(d) + column] = state_row(d)[lane_];
  }

 private:
  /// Rows of a solver's block of entries, of one column.
  struct Solver {
    float v[kEntryBlock];
    float value[kEntryBlock];
  };

  __device__ std::size_t state_at(unsigned d) const {
    return (std::size_t{head_} * shape_.key_dim + d) * shape_.value_dim;
  }

  __device__ float* state_row(unsigned d) { return &shared_.state[d / 4][d % 4 * kColumns]; }

  __device__ void load_state() {
    const unsigned column = first_column_ + lane_;
    for (unsigned d = warp_; d < kMostDim; d += kThreads / 32)
      state_row(d)[lane_] =
          column < shape_.value_dim && d < shape_.key_dim ? call_.state[state_at(d) + column] : 0.0F;
  }

  __device__ void load_keys(unsigned chunk) {
    std::uint64_t* there = &shared_.keys_there[chunk % 2];
    expect_bytes(there, sizeof(KeyRows));
    copy_bulk(shared_.keys[chunk % 2], rows_[std::size_t{chunk} * shape_.key_heads].keys, sizeof(KeyRows),
              there);
  }

  /// Asks for what a chunk needs after it was read by its keys.
  __device__ void load_rest(unsigned chunk) {
    expect_bytes(&shared_.rest_there, sizeof(KeyRows) + sizeof(ChunkWeights));
    copy_bulk(shared_.queries, rows_[std::size_t{chunk} * shape_.key_heads].queries, sizeof(KeyRows),
              &shared_.rest_there);
    copy_bulk(&shared_.weights, weights_ + std::size_t{chunk} * shape_.value_heads, sizeof(ChunkWeights),
              &shared_.rest_there);
  }

  /// What this solver's rows need later is asked for early: v and beta, or of kept rows the pseudo-value
  /// itself.
  __device__ void load_values(Solver& solver, unsigned chunk) {
    const std::ptrdiff_t key_width = std::ptrdiff_t{shape_.key_heads} * shape_.key_dim;
    const std::ptrdiff_t stride = 2 * key_width + std::ptrdiff_t{shape_.value_heads} * shape_.value_dim;
    const unsigned column = first_column_ + lane_;
    const unsigned first = chunk * kChunk + warp_ * kEntryBlock;
    const float* input = call_.qkv + (std::ptrdiff_t{first} - std::ptrdiff_t{call_.first}) * stride +
                         2 * key_width + std::ptrdiff_t{head_} * shape_.value_dim + column;
    const float* entry =
        call_.entry_values + (std::ptrdiff_t{head_} * kChunk + first) * shape_.value_dim + column;
    const unsigned rows = column < shape_.value_dim ? total_ - min(total_, first) : 0;
    const unsigned kept = kept_rows(first);
#pragma unroll
    for (unsigned r = 0; r < kEntryBlock; ++r, input += stride)
      solver.v[r] = r >= kept && r < rows ? __ldcg(input) : 0.0F;
    if (kept == 0) return;
#pragma unroll
    for (unsigned r = 0; r < kEntryBlock; ++r, entry += shape_.value_dim)
      if (r < kept && r < rows) solver.v[r] = __ldcg(entry);
  }

  /// How many rows from position `first` on the cache holds.
  __device__ unsigned kept_rows(unsigned first) const { return call_.first - min(call_.first, first); }

  /// Row `tile` of this thread in a tile of 16 by half as many rows; neighbouring ones lie in eight lanes.
  static __device__ unsigned tile_row(unsigned half, unsigned tile) {
    return tile * kEntryBlock + half * 8 + eighth();
  }

  /// Four key elements of this thread's rows and columns.
  struct KeyStep {
    float4 state[4];
    float4 rows[kTile];
  };

  __device__ void load_step(KeyStep& step, const KeyRows& rows, unsigned half, unsigned column, unsigned d) {
#pragma unroll
    for (unsigned j = 0; j < 4; ++j) step.state[j] = load4(&shared_.state[d / 4][j * kColumns + column]);
#pragma unroll
    for (unsigned j = 0; j < kTile; ++j) step.rows[j] = load4(&rows[tile_row(half, j)][d]);
  }

  static __device__ void add_step(Tile& sums, const KeyStep& step) {
#pragma unroll
    for (unsigned j = 0; j < kTile; ++j) {
      add_product(sums[j], step.state[0], step.rows[j].x);
      add_product(sums[j], step.state[1], step.rows[j].y);
      add_product(sums[j], step.state[2], step.rows[j].z);
      add_product(sums[j], step.state[3], step.rows[j].w);
    }
  }

  /// Adds a block of key elements' products of rows and state; loads run a step ahead.
  __device__ void read_block(Tile& sums, const KeyRows& rows, unsigned half, unsigned column,
                             unsigned block) {
    KeyStep steps[2];
    load_step(steps[0], rows, half, column, block);
#pragma unroll
    for (unsigned i = 0; i < kKeyBlock / 4; ++i) {
      if (i + 1 < kKeyBlock / 4) load_step(steps[(i + 1) % 2], rows, half, column, block + 4 * (i + 1));
      add_step(sums, steps[i % 2]);
    }
  }

  static __device__ void add_product(float (&sums)[kTile], const float4& a, float b) {
    sums[0] = fmaf(a.x, b, sums[0]);
    sums[1] = fmaf(a.y, b, sums[1]);
    sums[2] = fmaf(a.z, b, sums[2]);
    sums[3] = fmaf(a.w, b, sums[3]);
  }

  static __device__ void add_tile(Tile& sums, const Tile& parts) {
#pragma unroll
    for (unsigned j = 0; j < kTile; ++j)
#pragma unroll
      for (unsigned c = 0; c < kTile; ++c) sums[j][c] += parts[j][c];
  }

  /// Those who do not solve take the first two blocks of key elements, solvers add the other two.
  __device__ void read_by_keys(unsigned chunk) {
    const unsigned half = warp_ % 2;
    const unsigned column = warp_ / 2 % 2 * 16 + quarter() * 4;
    const bool solver = warp_ < kSolvers;
    Tile first = {};
    Tile second = {};
    const unsigned block = solver ? 2 * kKeyBlock : 0;
    if (block < shape_.key_dim) read_block(first, shared_.keys[chunk % 2], half, column, block);
    if (block + kKeyBlock < shape_.key_dim)
      read_block(second, shared_.keys[chunk % 2], half, column, block + kKeyBlock);
    if (!solver) {
      add_tile(first, second);
#pragma unroll
      for (unsigned j = 0; j < kTile; ++j) store4(&shared_.values[tile_row(half, j)][column], first[j]);
    }
    __syncthreads();
    if (!solver) return;
#pragma unroll
    for (unsigned j = 0; j < kTile; ++j) {
      const float4 earlier = load4(&shared_.values[tile_row(half, j)][column]);
      float sums[kTile];
#pragma unroll
      for (unsigned c = 0; c < kTile; ++c) sums[c] = (&earlier.x)[c] + first[j][c] + second[j][c];
      store4(&shared_.values[tile_row(half, j)][column], sums);
    }
    arrive(&shared_.reads_there);
    wait_barrier(&shared_.reads_there, chunk % 2);
  }

  /// Pseudo-values of a block of entries, one after the other, when those of earlier blocks are there.
  __device__ void solve(Solver& solver, unsigned chunk, bool folds) {
    const unsigned first = warp_ * kEntryBlock;
    if (warp_ > 0 && folds) weigh_keys(chunk);
    float reads[kEntryBlock];
    load_column(reads, first);
    float4 beta[kEntryBlock / 4];
    float4 decay[kEntryBlock / 4];
#pragma unroll
    for (unsigned r = 0; r < kEntryBlock / 4; ++r) {
      beta[r] = load4(&shared_.weights.beta[first + 4 * r]);
      decay[r] = load4(&shared_.weights.state[first + 4 * r]);
    }
    Tile keys = {};  // of whole blocks of entries
    for (unsigned block = 0; block < warp_; ++block) add_entries(keys, chunk, block);
    __syncwarp();
#pragma unroll
    for (unsigned j = 0; j < kTile; ++j) store4(&shared_.values[solver_row(j)][eighth() * 4], keys[j]);
    __syncwarp();
    float key_sums[kEntryBlock];
    load_column(key_sums, first);
    const unsigned kept = kept_rows(chunk * kChunk + first);
    float parts[kEntryBlock] = {};
#pragma unroll
    for (unsigned i = 0; i < kEntryBlock; i += 4) {
      float4 weight[kEntryBlock];
#pragma unroll
      for (unsigned r = i + 1; r < kEntryBlock; ++r)
        weight[r] = load4(&shared_.weights.key[first + r][first + i]);
#pragma unroll
      for (unsigned j = 0; j < 4; ++j) {
        const unsigned t = i + j;
        const RowSums sums = {reads[t], 0, key_sums[t] + parts[t], 0};
        const float value = pseudo_value(sums, solver.v[t], (&beta[i / 4].x)[j], (&decay[i / 4].x)[j]);
        solver.value[t] = t < kept ? solver.v[t] : value;
#pragma unroll
        for (unsigned r = t + 1; r < kEntryBlock; ++r)
          parts[r] = fmaf((&weight[r].x)[j], solver.value[t], parts[r]);
      }
    }
#pragma unroll
    for (unsigned r = 0; r < kEntryBlock; ++r) shared_.values[first + r][lane_] = solver.value[r];
    arrive(&shared_.values_there[warp_]);
    if (warp_ == 0 && folds) weigh_keys(chunk);
    fence_copies();
  }

  /// Row `tile` of this thread in a tile of its solver's rows by 8 times 4 columns.
  __device__ unsigned solver_row(unsigned tile) const { return warp_ * kEntryBlock + tile * 4 + quarter(); }

  /// Waits for an earlier block of entries and adds what this solver's rows take of it.
  __device__ void add_entries(Tile& keys, unsigned chunk, unsigned block) {
    const unsigned first = block * kEntryBlock;
    float4 weight[kTile][kEntryBlock / 4];
#pragma unroll
    for (unsigned j = 0; j < kTile; ++j)
#pragma unroll
      for (unsigned i = 0; i < kEntryBlock / 4; ++i)
        weight[j][i] = load4(&shared_.weights.key[solver_row(j)][first + i * 4]);
    wait_barrier(&shared_.values_there[block], chunk % 2);
    Tile parts = {};
#pragma unroll
    for (unsigned i = 0; i < kEntryBlock; ++i) {
      const float4 u = load4(&shared_.values[first + i][eighth() * 4]);
#pragma unroll
      for (unsigned j = 0; j < kTile; ++j) add_product(parts[j], u, (&weight[j][i / 4].x)[i % 4]);
    }
    add_tile(keys, parts);
  }

  /// This lane's column of the solver's rows.
  __device__ void load_column(float (&to)[kEntryBlock], unsigned first) const {
#pragma unroll
    for (unsigned r = 0; r < kEntryBlock; ++r) to[r] = shared_.values[first + r][lane_];
  }

  /// The pseudo-values of the chunk that stays open. Its keys and gates follow in keep_entries_kernel(), when
  /// no block reads the old ones any more.
  __device__ void keep(const Solver& solver, unsigned chunk) {
    const unsigned column = first_column_ + lane_;
#pragma unroll
    for (unsigned r = 0; r < kEntryBlock; ++r) {
      const unsigned t = warp_ * kEntryBlock + r;
      const unsigned position = chunk * kChunk + t;
      if (position >= call_.first && position < total_ && column < shape_.value_dim)
        call_.entry_values[(std::size_t{head_} * kChunk + t) * shape_.value_dim + column] = solver.value[r];
    }
  }

  /// The solver's keys, as the fold takes them.
  __device__ void weigh_keys(unsigned chunk) {
    const unsigned first = warp_ * kEntryBlock;
#pragma unroll 8
    for (unsigned r = first; r < first + kEntryBlock; ++r) {
      const float weight = shared_.weights.at_end[r];
      float4& k = *reinterpret_cast<float4*>(&shared_.keys[chunk % 2][r][lane_ * 4]);
      k = {weight * k.x, weight * k.y, weight * k.z, weight * k.w};
    }
  }

  /// Outputs by the warps that do not solve.
  __device__ void write_rows(unsigned chunk) {
    const unsigned half = warp_ % 2;
    const unsigned column = (warp_ - kSolvers) / 2 * 16 + quarter() * 4;
    Tile reads = {};
    for (unsigned block = 0; block < shape_.key_dim; block += kKeyBlock) {
      Tile parts = {};
      read_block(parts, shared_.queries, half, column, block);
      add_tile(reads, parts);
    }
    Tile sums = {};
#pragma unroll
    for (unsigned block = 0; block < kEntryBlocks; ++block) {
      wait_barrier(&shared_.values_there[block], chunk % 2);
      Tile parts = {};
#pragma unroll 2
      for (unsigned i = 0; i < kEntryBlock; i += 4) {
        float4 u[4];
#pragma unroll
        for (unsigned k = 0; k < 4; ++k) u[k] = load4(&shared_.values[block * kEntryBlock + i + k][column]);
#pragma unroll
        for (unsigned j = block; j < kTile; ++j) {
          const float4 w = load4(&shared_.weights.query[tile_row(half, j)][block * kEntryBlock + i]);
          const unsigned earlier = j > block ? kEntryBlock : half * 8 + eighth();
          if (i < earlier) add_product(parts[j], u[0], w.x);
          if (i + 1 < earlier) add_product(parts[j], u[1], w.y);
          if (i + 2 < earlier) add_product(parts[j], u[2], w.z);
          if (i + 3 < earlier) add_product(parts[j], u[3], w.w);
        }
      }
      add_tile(sums, parts);
    }
#pragma unroll
    for (unsigned j = 0; j < kTile; ++j) {
      const unsigned t = tile_row(half, j);
      const float own = shared_.weights.query[t][t];
      const float4 u = load4(&shared_.values[t][column]);
      float out[kTile];
#pragma unroll
      for (unsigned c = 0; c < kTile; ++c)
        out[c] = row_output({0, reads[j][c], 0, sums[j][c]}, shared_.weights.state[t], own, (&u.x)[c]);
      write_row(chunk * kChunk + t, first_column_ + column, out);
    }
  }

  __device__ void write_row(unsigned position, unsigned column, const float (&out)[kTile]) {
    if (position < call_.first || position >= total_) return;
    float* to =
        call_.out + (std::size_t{position - call_.first} * shape_.value_heads + head_) * shape_.value_dim;
    if (shape_.value_dim % 4 == 0) {
      if (column < shape_.value_dim) store4(to + column, out);
      return;
    }
#pragma unroll
    for (unsigned c = 0; c < kTile; ++c)
      if (column + c < shape_.value_dim) to[column + c] = out[c];
  }

  /// The state after the chunk; a thread owns 4 key elements by 4 columns.
  __device__ void fold(unsigned chunk, float decay) {
    const unsigned d = warp_ % 4 * 32 + eighth() * 4;
    const unsigned column = warp_ / 4 * 16 + quarter() * 4;
    Tile sums;
#pragma unroll
    for (unsigned j = 0; j < kTile; ++j) {
      const float4 s = load4(&shared_.state[d / 4][j * kColumns + column]);
#pragma unroll
      for (unsigned c = 0; c < kTile; ++c) sums[j][c] = decay * (&s.x)[c];
    }
    float4 u[2][kTile];
    float4 k[2][kTile];
    const auto load = [&](unsigned to, unsigned first) {
#pragma unroll
      for (unsigned i = 0; i < kTile; ++i) {
        u[to][i] = load4(&shared_.values[first + i][column]);
        k[to][i] = load4(&shared_.keys[chunk % 2][first + i][d]);
      }
    };
    load(0, 0);
#pragma unroll 4
    for (unsigned first = 0; first < kChunk; first += kTile) {
      const unsigned now = first / kTile % 2;
      load(1 - now, min(first + kTile, kChunk - kTile));
#pragma unroll
      for (unsigned i = 0; i < kTile; ++i) {
        add_product(sums[0], u[now][i], k[now][i].x);
        add_product(sums[1], u[now][i], k[now][i].y);
        add_product(sums[2], u[now][i], k[now][i].z);
        add_product(sums[3], u[now][i], k[now][i].w);
      }
    }
#pragma unroll
    for (unsigned j = 0; j < kTile; ++j) store4(&shared_.state[d / 4][j * kColumns + column], sums[j]);
  }

  RunShared& shared_;
  const DeltaNetRowsCuda& call_;
  const DeltaShapeCuda& shape_;
  unsigned head_;
  const ChunkRows* rows_;
  const ChunkWeights* weights_;
  unsigned total_;
  unsigned first_column_;
  unsigned warp_;
  unsigned lane_;
};

// Fast because the state stays in shared memory for the whole prompt, the next chunk's rows are on their way
// while a chunk is computed, and what waits for pseudo-values has company that does not.
__global__ void __launch_bounds__(kThreads, 1)
    delta_run_kernel(const DeltaNetRowsCuda* calls, DeltaShapeCuda shape, Chunks chunks) {
  begin_kernel();
  extern __shared__ float4 run_memory[];
  const DeltaNetRowsCuda call = calls[blockIdx.z];
  Run run(*reinterpret_cast<RunShared*>(run_memory), call, shape, chunks);
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
  return count * most_chunks(most) *
         (shape.key_heads * sizeof(ChunkRows) + shape.value_heads * sizeof(ChunkWeights));
}

void delta_run_cuda(CudaQueue& queue, const DeltaNetRowsCuda* calls, std::size_t count, std::size_t most,
                    const DeltaShapeCuda& shape, float* scratch) {
  const auto sequences = std::uint32_t(count);
  auto* rows = reinterpret_cast<ChunkRows*>(scratch);
  auto* weights = reinterpret_cast<ChunkWeights*>(rows + count * most_chunks(most) * shape.key_heads);
  const Chunks chunks = {rows, weights, std::uint32_t(most_chunks(most))};
  chunk_weights(queue, calls, count, shape, chunks);
  queue.launch(delta_run_kernel, {blocks_for(shape.value_dim, kColumns), shape.value_heads, sequences},
               {kThreads, sizeof(RunShared)}, calls, shape, chunks);
  queue.launch(keep_entries_kernel, {kChunk, sequences}, {256}, calls, shape);
}

}  // namespace lanner::kernels
