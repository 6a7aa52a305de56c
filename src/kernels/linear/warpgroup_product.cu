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

constexpr unsigned kMostStages = 12;

__host__ __device__ unsigned output_blocks(const TiledWeight& w, ProductGate gate) {
  const unsigned outputs = gate == ProductGate::kNone ? kTileOutputs : kTileOutputs / 2;
  return (w.rows + outputs - 1) / outputs;
}

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

/// Writes what a block has computed in full. With a gate each group of warps finishes half of the rows, once
/// the other has passed it its values. Loads stand together, ahead of what needs them.
template <unsigned kRows>
__device__ void store(float (&totals)[kRows / 2], float* passed, const SplitRows& x, const Place& place,
                      ProductGate gate) {
  const unsigned group = threadIdx.x / kGroupThreads;
  const TiledWeight& w = place.w(group);
  const unsigned first = place.tile(group) * 16;
  {
    float row_factors[kRows / 4];
    float output_factors[2];
    for_elements<kRows>([&](unsigned i, unsigned row, unsigned output) {
      if (i % 4 < 2) row_factors[i / 4 * 2 + i % 2] = x.factors[place.row + min(row, place.rows - 1)];
      if (i < 4 && i % 2 == 0) output_factors[i / 2] = w.factors[min(first + output, w.rows - 1)];
    });
#pragma unroll
    for (unsigned i = 0; i < kRows / 2; ++i)
      totals[i] *= row_factors[i / 4 * 2 + i % 2] * output_factors[i % 4 / 2];
  }
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
      init_barrier(barriers.empty + i, kWarps);
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

/// A group of warps' part of a place's rows and outputs.
template <TileCode kCode, unsigned kGroup, unsigned kRows, typename Stages>
__device__ void compute(const TiledProductCudaArgs& args, const Place& place, std::uint8_t* memory,
                        const Barriers& barriers, Cursor& cursor) {
  float totals[kRows / 2];
  multiply<kCode, kGroup, kRows, Stages>(totals, memory, barriers, place, slice_chunks(*place.first_w),
                                         cursor);
  auto* passed = reinterpret_cast<float*>(memory + Stages::kCount * Stages::kBytes);
  store<kRows>(totals, passed, args.x, place, args.gate);
}

#endif

// Fast because warps of their own keep rows and weights coming, weights from before the kernel ahead has
// ended, the tensor cores take rows straight from shared memory, and the weights of the next unit are widened
// meanwhile. Blocks that run together share weights.
template <TileCode kCode, unsigned kGroup, unsigned kRows>
__global__ void __launch_bounds__(kThreads, kRows == 128 ? 1 : 2)
    warpgroup_kernel(const __grid_constant__ TiledProductCudaArgs args) {
  let_next_start();
#if __CUDA_ARCH_FEAT_SM90_ALL
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
    if (kRows > 32 && place.rows <= 32)
      compute<kCode, kGroup, 32, Stages>(args, place, warpgroup_shared, barriers, cursor);
    else if (kRows > 64 && place.rows <= 64)
      compute<kCode, kGroup, 64, Stages>(args, place, warpgroup_shared, barriers, cursor);
    else
      compute<kCode, kGroup, kRows, Stages>(args, place, warpgroup_shared, barriers, cursor);
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

template <TileCode kCode, unsigned kGroup, unsigned kRows>
void run(CudaQueue& queue, const TiledProductCudaArgs& args) {
  const std::uint32_t outputs = all_output_blocks(args);
  const Block block = block_of<kCode, kGroup, kRows>();
  if constexpr (kRows < 128) {
    // Blocks with whole sums would leave half of the card idle.
    if (2 * outputs < std::uint32_t(queue.multiprocessors()))
      return queue.launch(warpgroup_slices_kernel<kCode, kGroup, kRows>, {kSlices, outputs}, block, args);
  }
  queue.launch(warpgroup_kernel<kCode, kGroup, kRows>, {blocks_for(args.rows, kRows), outputs}, block, args);
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
        run<kCode, kGroup, 32>(queue, args);
      else if (args.rows <= 64)
        run<kCode, kGroup, 64>(queue, args);
      else
        run<kCode, kGroup, 128>(queue, args);
    }
  });
}

}  // namespace lanner::kernels
