// SPDX-License-Identifier: MIT
#include <type_traits>

#include "kernels/delta_net/delta_inputs.cuh"
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
  float key[kQuarters * kBlockPitch];
  float query[kQuarters * kBlockPitch];
  float value[kMostDim];
  float convolved[2][kMostDim];  ///< query and key before their norms
  float silu[2][kMostDim];       ///< of z; of this row and of the one before it
  float gain[kMostDim];          ///< of the outputs' norm
  float decays[kChunk];          ///< from an entry to the row
  float state_decay;
  float beta;
  bool last;  ///< of the blocks that read the histories of the query and the key
  float key_weights[kChunk];
  float query_weights[kChunk];
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

/// What row t takes of every entry, by its decays. Eight threads per entry: four blocks of key elements, for
/// its key and for its query.
__device__ void weigh_entries(Shared& shared, const DeltaShapeCuda& shape, unsigned t) {
  const unsigned entry = threadIdx.x / 8;
  const unsigned block = threadIdx.x % 4;
  const bool for_query = threadIdx.x / 4 % 2 == 1;
  float sum = 0;
  if (entry <= t) {
    const float* k = shared.keys[entry] + block * kBlockPitch;
    const float* other = (for_query ? shared.query : shared.key) + block * kBlockPitch;
#pragma unroll
    for (unsigned i = 0; i < kKeyBlock; i += 4) {
      if (block * kKeyBlock + i >= shape.key_dim) break;
      const float4 a = *reinterpret_cast<const float4*>(k + i);
      const float4 b = *reinterpret_cast<const float4*>(other + i);
      sum = fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
    }
  }
  const unsigned lane = threadIdx.x % 32 / 4 * 4;
  const float dot = join(__shfl_sync(0xffffffffU, sum, lane), __shfl_sync(0xffffffffU, sum, lane + 1),
                         __shfl_sync(0xffffffffU, sum, lane + 2), __shfl_sync(0xffffffffU, sum, lane + 3));
  if (entry > t || block != 0) return;
  (for_query ? shared.query_weights : shared.key_weights)[entry] = shared.decays[entry] * dot;
}

/// The log decays of a head's entries, two to a lane.
struct EntryGates {
  float held[kChunk / 32];

  __device__ EntryGates(const float* entry_decay, unsigned count) {
#pragma unroll
    for (unsigned i = 0; i < kChunk / 32; ++i) {
      const unsigned entry = threadIdx.x % 32 + i * 32;
      held[i] = entry < count ? entry_decay[entry] : 0.0F;
    }
  }
  __device__ void add(unsigned t, float log_decay) {
#pragma unroll
    for (unsigned i = 0; i < kChunk / 32; ++i)
      if (threadIdx.x % 32 + i * 32 == t) held[i] = log_decay;
  }
  /// Sum of those of the entries [first, t), in their order; whole warps take part.
  __device__ float sum(unsigned first, unsigned t) const {
    float sum = 0;
#pragma unroll
    for (unsigned i = 0; i < kChunk / 32; ++i)
#pragma unroll 8
      for (unsigned j = 0; j < 32; ++j) {
        if (i * 32 + j >= t) return sum;
        const float gate = __shfl_sync(0xffffffffU, held[i], j);
        if (i * 32 + j >= first) sum += gate;
      }
    return sum;
  }
};

/// The decays up to row t of the entries before it and of the state, by the last quarter of a block.
__device__ void find_decays(Shared& shared, const EntryGates& gates, float log_decay, unsigned t) {
  const unsigned entry = threadIdx.x % kMostDim;  // that after the row's own stands for the state
  if (entry / 32 * 32 > t + 1) return;
  const bool of_state = entry == t + 1;
  float sum = gates.sum(of_state ? 0 : entry + 1, t);
  if (entry != t) sum += log_decay;
  const float decay = expf(sum);
  if (entry <= t) shared.decays[entry] = decay;
  if (of_state) shared.state_decay = decay;
}

/// Where the memory of one head lies, a line to a thread, comes to the second cache. Allowed before earlier
/// kernels have ended, whatever they write.
__device__ void ask_ahead(const float* from, unsigned floats, unsigned first_thread) {
  constexpr unsigned kLine = 32;
  for (unsigned at = (threadIdx.x - first_thread) % kThreads * kLine; at < floats; at += kThreads * kLine)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from + at));
}

/// The rows of a call.
__device__ const DeltaNetRowsCuda& rows_of(const DeltaNetRowsCuda& call) { return call; }
__device__ const DeltaNetRowsCuda& rows_of(const DeltaMixCuda& call) { return call.rows; }

/// Where a thread reads of a row: in the first three quarters an element of query, key or value, in the last
/// the head's gates and, of mixed rows, an element of z.
struct RowPlaces {
  const float* element = nullptr;
  const float* beta = nullptr;
  const float* log_decay = nullptr;
};
struct RowPart {
  float element = 0;
  Gates gates = {};

  __device__ explicit RowPart(const RowPlaces& from) {
    if (from.element != nullptr) element = *from.element;
    if (from.beta != nullptr) gates = {*from.beta, *from.log_decay};
  }
};

/// scale / sqrt(|x|^2 + eps) of a convolved query or key, to the bits of l2_norm_cuda(), by any warp.
__device__ float norm_factor(const float* x, unsigned dim, float scale, float eps) {
  float squares = 0;
#pragma unroll
  for (unsigned i = 0; i < kMostDim; i += 32) {
    const float value = threadIdx.x % 32 + i < dim ? x[threadIdx.x % 32 + i] : 0.0F;
    squares = fmaf(value, value, squares);
  }
  return scale / sqrtf(warp_sum(squares) + eps);
}

// Fast because the state and the entries of a head are asked for at once and stay on the chip for all rows,
// because they are on their way to the second cache before the kernel ahead has ended, and because a block
// forms the inputs that it needs: quarters of its threads convolve a query, a key and a value, the last finds
// gates and decays.
template <typename Call, bool kForms>
__global__ void __launch_bounds__(kThreads, 2)
    delta_step_kernel(const Call* calls, DeltaShapeCuda shape, DeltaMixWeightsCuda weights,
                      std::uint32_t* arrivals) {
  constexpr bool kGated = std::is_same_v<Call, DeltaMixCuda>;
  let_next_start();
  extern __shared__ float4 step_memory[];
  auto& shared = *reinterpret_cast<Shared*>(step_memory);
  const auto& mix = calls[blockIdx.y];
  const DeltaNetRowsCuda& call = rows_of(mix);
  const unsigned first = call.first;
  const unsigned head = blockIdx.x;
  const unsigned column = threadIdx.x % kMostDim;
  const unsigned quarter = threadIdx.x / kMostDim;
  const bool in_value = column < shape.value_dim;
  const unsigned group = shape.value_heads / shape.key_heads;
  const unsigned key_head = head / group;
  const bool stores_key = head % group == 0;
  const unsigned key_width = shape.key_heads * shape.key_dim;
  const unsigned channels = 2 * key_width + shape.value_heads * shape.value_dim;
  const bool has_channel = quarter < 2 ? column < shape.key_dim : quarter == 2 && in_value;
  const unsigned channel = column + (quarter < 2 ? quarter * key_width + key_head * shape.key_dim
                                                 : 2 * key_width + head * shape.value_dim);
  const unsigned place = key_place(column);
  const float* state_of_head = call.state + std::size_t{head} * shape.key_dim * shape.value_dim;
  ask_ahead(state_of_head, shape.key_dim * shape.value_dim, 0);
  ask_ahead(call.entry_values + std::size_t{head} * kChunk * shape.value_dim, first * shape.value_dim, 0);
  ask_ahead(call.entry_keys + std::size_t{key_head} * kChunk * shape.key_dim, first * shape.key_dim,
            kThreads / 2);
  const auto places_of = [&](unsigned row) {
    RowPlaces places;
    const float* elements = call.qkv;
    if constexpr (kForms) elements = mix.x;
    if (has_channel) places.element = elements + std::size_t{row} * channels + channel;
    if (quarter < 3) return places;
    const std::size_t at = std::size_t{row} * shape.value_heads + head;
    places.beta = call.beta + at;
    places.log_decay = call.log_decay + at;
    if (kGated && in_value) places.element = call.z + at * shape.value_dim + column;
    return places;
  };
  const RowPlaces first_places = places_of(0);
  ConvChannel conv = {};
  const float* history = nullptr;
  float a_log = 0;
  float dt_bias = 0;
  float gain = 0;
  if (kGated && quarter == 3 && in_value) gain = shape.gain[column];
  if constexpr (kForms) {
    if (has_channel) {
      history = mix.history + channel;
#pragma unroll
      for (unsigned i = 0; i < kTaps; ++i) conv.taps[i] = weights.conv[i * channels + channel];
    }
    if (quarter == 3) {
      a_log = weights.a_log[head];
      dt_bias = weights.dt_bias[head];
    }
  }
  wait_for_earlier();
  RowPart part(first_places);
  if (history != nullptr) {
#pragma unroll
    for (unsigned i = 0; i + 1 < kTaps; ++i) conv.past[i] = history[i * channels];
  }
  EntryGates gates(call.entry_decay + std::size_t{head} * kChunk, quarter == 3 ? first : 0);
  load_entries(shared, call, shape, head);
  float state[kKeyBlock];
#pragma unroll
  for (unsigned j = 0; j < kKeyBlock; ++j) {
    const unsigned d = quarter * kKeyBlock + j;
    state[j] = in_value && d < shape.key_dim ? state_of_head[d * shape.value_dim + column] : 0.0F;
  }
  std::uint32_t arrived = 0;
  for (unsigned row = 0; row < call.rows; ++row) {
    const unsigned t = first + row;
    const std::size_t gate_at = std::size_t{row} * shape.value_heads + head;
    const std::size_t at = std::size_t{row} * channels + channel;
    float* silu = shared.silu[row % 2];
    float value = part.element;
    Gates own = part.gates;
    if (row + 1 < call.rows) part = RowPart(places_of(row + 1));
    if (quarter == 3) {
      if (kForms) own = gates_of(own.beta, own.log_decay, a_log, dt_bias);
      if (kGated) {
        silu[column] = value / (1.0F + expf(-value));
        if (row == 0) shared.gain[column] = gain;
      }
      find_decays(shared, gates, own.log_decay, t);
      gates.add(t, own.log_decay);
      if (column == 0) {
        shared.beta = own.beta;
        call.entry_decay[std::size_t{head} * kChunk + t] = own.log_decay;
      }
    }
    if constexpr (kForms) {
      if (has_channel) value = conv.next(value);
      if (quarter < 2) shared.convolved[quarter][column] = value;
      __syncthreads();
      if (quarter == 3 && column == 0) {
        mix.beta[gate_at] = own.beta;
        mix.log_decay[gate_at] = own.log_decay;
      }
      if (row == 0 && group > 1 && threadIdx.x == kThreads - 1) {
        // Behind the barrier the whole block has read its history.
        __threadfence();
        arrived = atomicAdd(arrivals + blockIdx.y * shape.key_heads + key_head, 1U) + 1;
      }
      if (quarter < 2)
        value *= norm_factor(shared.convolved[quarter], shape.key_dim,
                             quarter == 0 ? weights.query_scale : 1.0F, weights.eps);
      if (has_channel && (quarter == 2 || stores_key)) mix.qkv[at] = value;
    }
    if (quarter == 0) shared.query[place] = value;
    if (quarter == 1) {
      shared.key[place] = shared.keys[t][place] = value;
      if (has_channel && stores_key)
        call.entry_keys[(std::size_t{key_head} * kChunk + t) * shape.key_dim + column] = value;
    }
    if (quarter == 2) shared.value[column] = value;
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    weigh_entries(shared, shape, t);
    RowSums mine = {};
#pragma unroll
    for (unsigned j = 0; j < kKeyBlock; j += 4) {
      const float4 k = *reinterpret_cast<const float4*>(shared.key + quarter * kBlockPitch + j);
      const float4 q = *reinterpret_cast<const float4*>(shared.query + quarter * kBlockPitch + j);
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        mine.read_key = fmaf(state[j + i], (&k.x)[i], mine.read_key);
        mine.read_query = fmaf(state[j + i], (&q.x)[i], mine.read_query);
      }
    }
    __syncthreads();
#pragma unroll
    for (unsigned j = 0; j < kEntryBlock; ++j) {
      const unsigned i = quarter * kEntryBlock + j;
      if (i >= t) break;
      const float entry = shared.values[i][column];
      mine.key_sum = fmaf(shared.key_weights[i], entry, mine.key_sum);
      mine.query_sum = fmaf(shared.query_weights[i], entry, mine.query_sum);
    }
    shared.parts[quarter][column] = mine;
    __syncthreads();
    float* out = call.out + gate_at * shape.value_dim + column;
    if (quarter == 0 && in_value) {
      const RowSums* p[kQuarters];
#pragma unroll
      for (unsigned i = 0; i < kQuarters; ++i) p[i] = &shared.parts[i][column];
      const RowSums sums = {join(p[0]->read_key, p[1]->read_key, p[2]->read_key, p[3]->read_key),
                            join(p[0]->read_query, p[1]->read_query, p[2]->read_query, p[3]->read_query),
                            join(p[0]->key_sum, p[1]->key_sum, p[2]->key_sum, p[3]->key_sum),
                            join(p[0]->query_sum, p[1]->query_sum, p[2]->query_sum, p[3]->query_sum)};
      const float pseudo = pseudo_value(sums, shared.value[column], shared.beta, shared.state_decay);
      call.entry_values[(std::size_t{head} * kChunk + t) * shape.value_dim + column] = pseudo;
      shared.values[t][column] = pseudo;
      const float result = row_output(sums, shared.state_decay, shared.query_weights[t], pseudo);
      if (kGated)
        shared.outputs[column] = result;
      else
        *out = result;
    }
    __syncthreads();
    if (kGated && quarter == 0) {
      // By each warp of these alike, to the bits of gated_rms_norm_cuda().
      float squares = 0;
      for (unsigned i = column % 32; i < shape.value_dim; i += 32)
        squares = fmaf(shared.outputs[i], shared.outputs[i], squares);
      const float scale = 1.0F / sqrtf(warp_sum(squares) / float(shape.value_dim) + shape.eps);
      if (in_value) *out = shared.outputs[column] * scale * shared.gain[column] * silu[column];
    }
  }
  if constexpr (kForms) {
    // Heads that share a key share its history: the last block to have read it goes on with it.
    if (threadIdx.x == kThreads - 1) {
      shared.last = group == 1 || arrived == group;
      if (arrived == group) arrivals[blockIdx.y * shape.key_heads + key_head] = 0;
      __threadfence();
    }
    __syncthreads();
    if (has_channel && (quarter == 2 || shared.last)) conv.keep(mix, channels, channel);
  }
}

}  // namespace

void delta_step_cuda(CudaQueue& queue, const DeltaNetRowsCuda* calls, std::size_t count,
                     const DeltaShapeCuda& shape) {
  queue.launch(delta_step_kernel<DeltaNetRowsCuda, false>, {shape.value_heads, blocks_for(count, 1)},
               {kThreads, sizeof(Shared)}, calls, shape, DeltaMixWeightsCuda{}, queue.arrivals());
}

void delta_mix_cuda(CudaQueue& queue, const DeltaMixCuda* calls, std::size_t count,
                    const DeltaShapeCuda& shape, const DeltaMixWeightsCuda& weights) {
  const Grid grid = {shape.value_heads, blocks_for(count, 1)};
  const Block block = {kThreads, sizeof(Shared)};
  // Where blocks wait for a place, each would find again what heads share: with 32 sequences of Qwen 4B on an
  // H200 a step took 2 % longer in one kernel.
  const std::size_t places = 2 * std::size_t(queue.multiprocessors());
  if (count * shape.value_heads <= places && count * shape.key_heads <= kArrivalCounters)
    return queue.launch(delta_step_kernel<DeltaMixCuda, true>, grid, block, calls, shape, weights,
                        queue.arrivals());
  delta_inputs_cuda(queue, calls, count, shape, weights);
  queue.launch(delta_step_kernel<DeltaMixCuda, false>, grid, block, calls, shape, weights, queue.arrivals());
}

}  // namespace lanner::kernels
