// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/linear/tile_kernels.h"
#include "kernels/linear/warpgroup_block.cuh"

// Cards without clusters never start these kernels, but they must compile for them.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define LANNER_CLUSTER __cluster_dims__(8, 1, 1)
#else
#define LANNER_CLUSTER
#endif

namespace lanner::kernels {
namespace {

static_assert(kSlices == 8, "blocks of a cluster");

__host__ __device__ unsigned output_blocks(const TiledWeight& w, ProductGate gate) {
  const unsigned outputs = gate == ProductGate::kNone ? kTileOutputs : kTileOutputs / 2;
  return (w.rows + outputs - 1) / outputs;
}

/// Slices of a block, and how many blocks have one more.
struct Shares {
  unsigned each;
  unsigned longer;
};

#if __CUDA_ARCH_FEAT_SM90_ALL

__device__ void wait_for_products() { asm volatile("bar.sync 1, %0;" ::"n"(kProductThreads) : "memory"); }

template <unsigned kRegisters>
__device__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <unsigned kRegisters>
__device__ void keep_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

__device__ unsigned cluster_rank() {
  unsigned rank = 0;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ void wait_for_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// A float of another block's shared memory.
__device__ float load_from(unsigned rank, const float* mine) {
  float value = 0;
  unsigned theirs = 0;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(theirs) : "r"(shared_address(mine)), "r"(rank));
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(theirs) : "memory");
  return value;
}

/// What a lane's sums are multiplied by: asked for ahead of the products, or behind them where registers are
/// short.
template <unsigned kRows>
struct Factors {
  static constexpr bool kAhead = kRows != 64;
  float rows[kRows / 4];
  float outputs[2];

  __device__ void load(const SplitRows& x, const Place& place) {
    const unsigned group = threadIdx.x / kGroupThreads;
    const TiledWeight& w = place.w(group);
    for_elements<kRows>([&](unsigned i, unsigned row, unsigned output) {
      if (i % 4 < 2) rows[i / 4 * 2 + i % 2] = __ldcg(x.factors + place.row + min(row, place.rows - 1));
      if (i < 4 && i % 2 == 0)
        outputs[i / 2] = __ldg(w.factors + min(place.tile(group) * 16 + output, w.rows - 1));
    });
  }
};

/// Writes what a block has computed in full. With a gate each group of warps finishes half of the rows, once
/// the other has passed it its values. Loads stand together, ahead of what needs them.
template <unsigned kRows>
__device__ void store(float (&totals)[kRows / 2], const Factors<kRows>& factors, float* passed,
                      const Place& place, ProductGate gate) {
  const unsigned group = threadIdx.x / kGroupThreads;
  const TiledWeight& w = place.w(group);
  const unsigned first = place.tile(group) * 16;
#pragma unroll
  for (unsigned i = 0; i < kRows / 2; ++i)
    totals[i] *= factors.rows[i / 4 * 2 + i % 2] * factors.outputs[i % 4 / 2];
  const auto place_of = [&](unsigned row, unsigned n) { return (std::size_t{place.row} + row) * w.rows + n; };
  const auto valid = [&](unsigned row, unsigned n) { return row < place.rows && n < w.rows; };
  if (gate != ProductGate::kNone) {
    wait_for_products();
    for_elements<kRows>([&](unsigned i, unsigned row, unsigned output) {
      if (row / (kRows / 2) != group) passed[row * kPitch + output] = totals[i];
    });
    wait_for_products();
    for_elements<kRows / 2>([&](unsigned i, unsigned row, unsigned output) {
      const float mine = group == 0 ? totals[i] : totals[i + kRows / 4];
      const unsigned at = row + group * (kRows / 2);
      const float other = passed[at * kPitch + output];
      const float value = gated(gate, group == 0 ? mine : other, group == 0 ? other : mine);
      if (valid(at, first + output)) write_result(place.to, place_of(at, first + output), value);
    });
    return;
  }
  if (place.to.residual != nullptr) {
    float residuals[kRows / 2];
    for_elements<kRows>([&](unsigned i, unsigned row, unsigned output) {
      residuals[i] = 0;
      if (valid(row, first + output)) residuals[i] = place.to.residual[place_of(row, first + output)];
    });
#pragma unroll
    for (unsigned i = 0; i < kRows / 2; ++i) totals[i] = residuals[i] + totals[i];
  }
  for_elements<kRows>([&](unsigned i, unsigned row, unsigned output) {
    if (valid(row, first + output)) place.to.out[place_of(row, first + output)] = totals[i];
  });
}

/// The slices of a cluster's blocks meet; every block finishes its share of the outputs.
template <unsigned kRows>
__device__ void join(const float (&totals)[kRows / 2], std::uint8_t* memory, const SplitRows& x,
                     const Place& place, ProductGate gate) {
  auto* sums = reinterpret_cast<float*>(memory);  // [group][kRows][kPitch]
  float* mine = sums + threadIdx.x / kGroupThreads * (kRows * kPitch);
  wait_for_products();
  for_elements<kRows>(
      [&](unsigned i, unsigned row, unsigned output) { mine[row * kPitch + output] = totals[i]; });
  wait_for_cluster();
  const unsigned used = used_slices(*place.first_w);
  const auto sum_of = [&](unsigned element) {
    float parts[kSlices];
#pragma unroll
    for (unsigned s = 0; s < kSlices; ++s) parts[s] = s < used ? load_from(s, sums + element) : 0.0F;
    float sum = 0;
#pragma unroll
    for (unsigned s = 0; s < kSlices; ++s)
      if (s < used) sum += parts[s];
    return sum;
  };
  const unsigned elements = (gate == ProductGate::kNone ? kGroups : 1) * kRows * 64;
  for (unsigned i = threadIdx.x; i < elements / kSlices; i += kProductThreads) {
    const unsigned element = cluster_rank() * (elements / kSlices) + i;
    const unsigned group = element / (kRows * 64);
    const unsigned row = element / 64 % kRows;
    const TiledWeight& w = place.w(group);
    const unsigned n = place.tile(group) * 16 + element % 64;
    if (row >= place.rows || n >= w.rows) continue;
    const float factor = x.factors[std::size_t{place.row} + row];
    const unsigned at = (group * kRows + row) * kPitch + element % 64;
    float value = sum_of(at) * (factor * w.factors[n]);
    if (gate != ProductGate::kNone)
      value = gated(gate, value, sum_of(at + kRows * kPitch) * (factor * place.second_w->factors[n]));
    write_result(place.to, (std::size_t{place.row} + row) * w.rows + n, value);
  }
  wait_for_cluster();  // nobody leaves while others read its sums
}

/// The at-th outputs among all products, and the rows_at-th rows.
__device__ Place place_of(const TiledProductCudaArgs& args, unsigned at, unsigned rows_at, unsigned rows) {
  Place place;
  unsigned product = 0;
  if (args.gate == ProductGate::kNone)
    while (product + 1 < args.count && at >= output_blocks(args.w[product], args.gate))
      at -= output_blocks(args.w[product++], args.gate);
  const bool gate = args.gate != ProductGate::kNone;
  place.first_w = &args.w[product];
  place.second_w = &args.w[gate ? 1 : product];
  place.first_tile = at * (gate ? 4 : 8);
  place.second_tile = gate ? at * 4 : at * 8 + 4;
  place.to = {args.out[product], args.residual[product]};
  if (args.experts.most == 0) {
    place.row = rows_at * rows;
    place.rows = min(args.rows - place.row, rows);
  } else if (rows_at < *args.experts.used) {
    const ExpertTile tile = args.experts.tiles[rows_at];
    place.first_w = args.experts.first + tile.expert;
    place.second_w = gate ? args.experts.second + tile.expert : place.first_w;
    place.row = tile.first;
    place.rows = tile.count;
  }
  place.end = place.first_w->chunks;
  return place;
}

template <typename Stages>
__device__ Barriers begin_barriers(std::uint64_t* memory) {
  const Barriers barriers = {memory, memory + Stages::kCount};
  if (threadIdx.x == 0) {
    for (unsigned i = 0; i < Stages::kCount; ++i) {
      init_barrier(barriers.full + i, 1 + kGroupThreads);
      init_barrier(barriers.empty + i, kProductThreads);
    }
    fence_barriers();
  }
  __syncthreads();
  return barriers;
}

/// Registers of the group that asks, and of the others: all that a block was given.
template <unsigned kRows>
inline constexpr unsigned kAskRegisters = kRows == 128 ? 40 : 32;
template <unsigned kRows>
inline constexpr unsigned kProductRegisters = kRows == 128 ? 232 : 104;

/// A block's even share of all (blocks of outputs, slices), from its last outputs to its first. So it begins
/// with outputs of which it has the first slices, and ends with those of which it has the last ones.
class SharedPlaces {
 public:
  __device__ SharedPlaces(const TiledProductCudaArgs& args, const Shares& shares)
      : args_(args), slices_(used_slices(args.w[0])), per_slice_(slice_chunks(args.w[0])) {
    const auto bound = [&](unsigned block) { return block * shares.each + min(block, shares.longer); };
    first_ = bound(blockIdx.x);
    end_ = bound(blockIdx.x + 1);
  }

  __device__ bool next(Place& to) {
    if (end_ == first_) return false;
    const unsigned at = (end_ - 1) / slices_;
    const unsigned begin = max(first_, at * slices_);
    to = place_of(args_, at, 0, args_.rows);
    to.begin = (begin - at * slices_) * per_slice_;
    to.end = min((end_ - at * slices_) * per_slice_, to.end);
    end_ = begin;
    return true;
  }

 private:
  const TiledProductCudaArgs& args_;
  unsigned slices_;
  unsigned per_slice_;
  unsigned first_;
  unsigned end_;
};

template <unsigned kRows>
__device__ void clear(float (&totals)[kRows / 2]) {
#pragma unroll
  for (unsigned i = 0; i < kRows / 2; ++i) totals[i] = 0;
}

/// A group of warps' part of a place's rows and outputs.
template <TileCode kCode, unsigned kGroup, unsigned kRows, typename Stages>
__device__ void compute(const TiledProductCudaArgs& args, const Place& place, std::uint8_t* memory,
                        const Barriers& barriers, Cursor& cursor) {
  Factors<kRows> factors;
  if constexpr (Factors<kRows>::kAhead) factors.load(args.x, place);
  float totals[kRows / 2];
  clear<kRows>(totals);
  multiply<kCode, kGroup, kRows, Stages>(totals, memory, barriers, place, slice_chunks(*place.first_w),
                                         cursor);
  if constexpr (!Factors<kRows>::kAhead) factors.load(args.x, place);
  auto* passed = reinterpret_cast<float*>(memory + Stages::kCount * Stages::kBytes);
  store<kRows>(totals, factors, passed, place, args.gate);
}

/// Where a block leaves sums of its first slices for the block behind it.
template <unsigned kRows>
__device__ float4* left_sums(const BlockExchange& exchange, unsigned block) {
  return reinterpret_cast<float4*>(exchange.values) + std::size_t{block} * (kRows * kTileOutputs / 4) +
         threadIdx.x;
}

template <unsigned kRows>
__device__ void leave(const float (&totals)[kRows / 2], const BlockExchange& exchange) {
  float4* to = left_sums<kRows>(exchange, blockIdx.x);
#pragma unroll
  for (unsigned i = 0; i < kRows / 2; i += 4)
    __stcg(to + i / 4 * kProductThreads, make_float4(totals[i], totals[i + 1], totals[i + 2], totals[i + 3]));
  wait_for_products();
  if (threadIdx.x == 0)
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(exchange.flags + blockIdx.x), "r"(1U)
                 : "memory");
}

/// Takes what the block before left, and clears its flag for the next kernel.
template <unsigned kRows>
__device__ void take(float (&totals)[kRows / 2], const BlockExchange& exchange) {
  const unsigned block = blockIdx.x - 1;
  if (threadIdx.x == 0) {
    std::uint32_t there = 0;
    while (there == 0)
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                   : "=r"(there)
                   : "l"(exchange.flags + block)
                   : "memory");
    exchange.flags[block] = 0;
  }
  wait_for_products();
  const float4* from = left_sums<kRows>(exchange, block);
#pragma unroll
  for (unsigned i = 0; i < kRows / 2; i += 4) {
    const float4 sums = __ldcg(from + i / 4 * kProductThreads);
    totals[i] = sums.x;
    totals[i + 1] = sums.y;
    totals[i + 2] = sums.z;
    totals[i + 3] = sums.w;
  }
}

#endif

// Fast because warps of their own keep rows and weights coming, weights from before the kernel ahead has
// ended, the tensor cores take rows straight from shared memory, and the weights of the next unit are widened
// meanwhile. Blocks that run together share weights.
template <TileCode kCode, unsigned kGroup>
__global__ void __launch_bounds__(kThreads, 1)
    warpgroup_kernel(const __grid_constant__ TiledProductCudaArgs args) {
  let_next_start();
#if __CUDA_ARCH_FEAT_SM90_ALL
  constexpr unsigned kRows = 128;
  using Stages = Stage<kCode, kGroup, kRows>;
  extern __shared__ __align__(128) std::uint8_t warpgroup_shared[];
  __shared__ std::uint64_t barrier_memory[2 * kMostStages];
  const Place place = place_of(args, blockIdx.y, blockIdx.x, kRows);
  const Barriers barriers = begin_barriers<Stages>(barrier_memory);
  Cursor cursor;
  if (threadIdx.x >= kProductThreads) {
    keep_registers<kAskRegisters<kRows>>();
    fetch<Stages>(warpgroup_shared, barriers, args.x, place, kGroup, cursor);
  } else {
    take_registers<kProductRegisters<kRows>>();
    wait_for_earlier();
    if (place.rows <= 32)
      compute<kCode, kGroup, 32, Stages>(args, place, warpgroup_shared, barriers, cursor);
    else if (place.rows <= 64)
      compute<kCode, kGroup, 64, Stages>(args, place, warpgroup_shared, barriers, cursor);
    else
      compute<kCode, kGroup, kRows, Stages>(args, place, warpgroup_shared, barriers, cursor);
  }
#endif
}

// The same for so few rows that all blocks of outputs are there at once: blocks have even shares of the
// slices, so that no multiprocessor ends long before another. Where the slices of some outputs are shared,
// the block with the first of them computes these before anything else and leaves their sum, which the other
// adds to at its end. So nobody waits for long, nor for a block that has not started.
template <TileCode kCode, unsigned kGroup, unsigned kRows>
__global__ void __launch_bounds__(kThreads, 2)
    warpgroup_shared_kernel(const __grid_constant__ TiledProductCudaArgs args, Shares shares,
                            BlockExchange exchange) {
  let_next_start();
#if __CUDA_ARCH_FEAT_SM90_ALL
  using Stages = Stage<kCode, kGroup, kRows>;
  extern __shared__ __align__(128) std::uint8_t warpgroup_shared[];
  __shared__ std::uint64_t barrier_memory[2 * kMostStages];
  SharedPlaces places(args, shares);
  const Barriers barriers = begin_barriers<Stages>(barrier_memory);
  Cursor cursor;
  if (threadIdx.x >= kProductThreads) {
    keep_registers<kAskRegisters<kRows>>();
    for (Place place; places.next(place);)
      fetch<Stages>(warpgroup_shared, barriers, args.x, place, kGroup, cursor);
  } else {
    take_registers<kProductRegisters<kRows>>();
    wait_for_earlier();
    auto* passed = reinterpret_cast<float*>(warpgroup_shared + Stages::kCount * Stages::kBytes);
    for (Place place; places.next(place);) {
      Factors<kRows> factors;
      if constexpr (Factors<kRows>::kAhead) factors.load(args.x, place);
      float totals[kRows / 2];
      clear<kRows>(totals);
      if (place.begin > 0) take<kRows>(totals, exchange);
      multiply<kCode, kGroup, kRows, Stages>(totals, warpgroup_shared, barriers, place,
                                             slice_chunks(*place.first_w), cursor);
      if constexpr (!Factors<kRows>::kAhead) factors.load(args.x, place);
      if (place.end < place.first_w->chunks)
        leave<kRows>(totals, exchange);
      else
        store<kRows>(totals, factors, passed, place, args.gate);
    }
  }
#endif
}

// The same for experts, of whose tiles a block takes one after the other: rows and weights keep coming from
// one to the next. Blocks that run together share rows.
template <TileCode kCode, unsigned kGroup, unsigned kRows>
__global__ void __launch_bounds__(kThreads, 2)
    warpgroup_experts_kernel(const __grid_constant__ TiledProductCudaArgs args, unsigned outputs) {
  begin_kernel();
#if __CUDA_ARCH_FEAT_SM90_ALL
  using Stages = Stage<kCode, kGroup, kRows>;
  extern __shared__ __align__(128) std::uint8_t warpgroup_shared[];
  __shared__ std::uint64_t barrier_memory[2 * kMostStages];
  const Barriers barriers = begin_barriers<Stages>(barrier_memory);
  const unsigned all = outputs * *args.experts.used;
  Cursor cursor;
  if (threadIdx.x >= kProductThreads) {
    keep_registers<kAskRegisters<kRows>>();
    for (unsigned at = blockIdx.x; at < all; at += gridDim.x)
      fetch<Stages>(warpgroup_shared, barriers, args.x, place_of(args, at % outputs, at / outputs, kRows),
                    kGroup, cursor);
  } else {
    take_registers<kProductRegisters<kRows>>();
    for (unsigned at = blockIdx.x; at < all; at += gridDim.x) {
      const Place place = place_of(args, at % outputs, at / outputs, kRows);
      compute<kCode, kGroup, kRows, Stages>(args, place, warpgroup_shared, barriers, cursor);
    }
  }
#endif
}

// Few outputs: a cluster of blocks with a slice each. No experts.
template <TileCode kCode, unsigned kGroup, unsigned kRows>
__global__ void LANNER_CLUSTER __launch_bounds__(kThreads, 2)
    warpgroup_slices_kernel(const __grid_constant__ TiledProductCudaArgs args) {
  let_next_start();
#if __CUDA_ARCH_FEAT_SM90_ALL
  using Stages = Stage<kCode, kGroup, kRows>;
  extern __shared__ __align__(128) std::uint8_t warpgroup_shared[];
  __shared__ std::uint64_t barrier_memory[2 * kMostStages];
  Place place = place_of(args, blockIdx.y, 0, kRows);
  const unsigned per_slice = slice_chunks(*place.first_w);
  place.begin = min(cluster_rank() * per_slice, place.end);
  place.end = min(place.begin + per_slice, place.end);
  const Barriers barriers = begin_barriers<Stages>(barrier_memory);
  Cursor cursor;
  if (threadIdx.x >= kProductThreads) {
    keep_registers<kAskRegisters<kRows>>();
    fetch<Stages>(warpgroup_shared, barriers, args.x, place, kGroup, cursor);
    wait_for_cluster();
    wait_for_cluster();
  } else {
    take_registers<kProductRegisters<kRows>>();
    wait_for_earlier();
    float totals[kRows / 2];
    clear<kRows>(totals);
    multiply<kCode, kGroup, kRows, Stages>(totals, warpgroup_shared, barriers, place, per_slice, cursor);
    join<kRows>(totals, warpgroup_shared, args.x, place, args.gate);
  }
#endif
}

std::uint32_t all_output_blocks(const TiledProductCudaArgs& args) {
  std::uint32_t outputs = 0;
  for (unsigned i = 0; i < (args.gate == ProductGate::kNone ? args.count : 1); ++i)
    outputs += output_blocks(args.w[i], args.gate);
  return outputs;
}

template <TileCode kCode, unsigned kGroup, unsigned kRows>
Block block_of() {
  using Stages = Stage<kCode, kGroup, kRows>;
  static_assert(Stages::kCount >= 2 && Stages::kCount <= kMostStages);
  static_assert(Stages::kAllBytes >= kGroups * kRows * kPitch * sizeof(float) || kRows == 128);
  return {kThreads, Stages::kAllBytes};
}

/// More than half of a multiprocessor's shared memory.
constexpr std::size_t kAloneBytes = std::size_t{116} << 10;

/// 32 or 64 rows at most.
template <TileCode kCode, unsigned kGroup, unsigned kRows>
void run_few(CudaQueue& queue, const TiledProductCudaArgs& args) {
  const std::uint32_t outputs = all_output_blocks(args);
  const auto multiprocessors = std::uint32_t(queue.multiprocessors());
  Block block = block_of<kCode, kGroup, kRows>();
  // Blocks with whole sums would leave half of the card idle.
  if (2 * outputs < multiprocessors)
    return queue.launch(warpgroup_slices_kernel<kCode, kGroup, kRows>, {kSlices, outputs}, block, args);
  // A share is all slices of some outputs at least, so that two blocks at most meet in any.
  const bool pairs = outputs >= 2 * multiprocessors;
  if (!pairs) block.shared_bytes = std::max(block.shared_bytes, kAloneBytes);
  const std::uint32_t blocks = std::min(outputs, pairs ? 2 * multiprocessors : multiprocessors);
  const std::uint32_t slices = outputs * used_slices(args.w[0]);
  queue.launch(warpgroup_shared_kernel<kCode, kGroup, kRows>, {blocks}, block, args,
               Shares{slices / blocks, slices % blocks}, queue.exchange());
}

template <TileCode kCode, unsigned kGroup>
void run_many(CudaQueue& queue, const TiledProductCudaArgs& args) {
  queue.launch(warpgroup_kernel<kCode, kGroup>, {blocks_for(args.rows, 128), all_output_blocks(args)},
               block_of<kCode, kGroup, 128>(), args);
}

template <TileCode kCode, unsigned kGroup>
void run_experts(CudaQueue& queue, const TiledProductCudaArgs& args) {
  constexpr unsigned kRows = kWarpgroupTileRows;
  const std::uint32_t outputs = all_output_blocks(args);
  const auto resident = std::uint32_t(2 * queue.multiprocessors());
  queue.launch(warpgroup_experts_kernel<kCode, kGroup, kRows>,
               {std::min(outputs * args.experts.most, resident)}, block_of<kCode, kGroup, kRows>(), args,
               outputs);
}

}  // namespace

void warpgroup_product(CudaQueue& queue, const TiledProductCudaArgs& args) {
  for_kind(args.w[0], [&]<TileCode kCode, unsigned kGroup, bool kHalf>() {
    if constexpr (kHalf) {
      if (args.experts.most > 0)
        run_experts<kCode, kGroup>(queue, args);
      else if (args.rows <= 32)
        run_few<kCode, kGroup, 32>(queue, args);
      else if (args.rows <= 64)
        run_few<kCode, kGroup, 64>(queue, args);
      else
        run_many<kCode, kGroup>(queue, args);
    }
  });
}

}  // namespace lanner::kernels
