// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/linear/chunk_slots.cuh"
#include "kernels/linear/tile_kernels.h"
#include "kernels/linear/tile_product.cuh"

// Cards without clusters never start this kernel, but it must compile for them.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define LANNER_CLUSTER __cluster_dims__(8, 1, 1)
#else
#define LANNER_CLUSTER
#endif

namespace lanner::kernels {
namespace {

static_assert(kSlices == 8, "blocks of a cluster");

// A cluster of blocks: one slice of the inputs each, for the same outputs. A warp takes one tile of 16.
constexpr unsigned kThreads = 256;
constexpr unsigned kTiles = kThreads / 32;
constexpr unsigned kRows = 32;
constexpr unsigned kRowTiles = kRows / 8;
constexpr unsigned kSumFloats = kTiles * 16 * kRows;  // of a block and product
constexpr std::size_t kMostSharedBytes = std::size_t{225} << 10;

__device__ unsigned cluster_rank() {
  unsigned rank = 0;
#if __CUDA_ARCH__ >= 900
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return rank;
}

__device__ void wait_for_cluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

/// A float of another block's shared memory.
__device__ float load_from(unsigned rank, const float* mine) {
  float value = 0;
#if __CUDA_ARCH__ >= 900
  const unsigned address = unsigned(__cvta_generic_to_shared(mine));
  unsigned theirs = 0;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(theirs) : "r"(address), "r"(rank));
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(theirs) : "memory");
#endif
  return value;
}

/// Which 128 outputs of which product come `at`-th.
struct Place {
  unsigned product;
  unsigned tile;
};

__device__ __host__ inline unsigned tile_groups(const TiledWeight& w) {
  return (w.tiles() + kTiles - 1) / kTiles;
}

__device__ Place place_of(const TiledProductCudaArgs& args, unsigned at) {
  Place place = {0, 0};
  if (args.gate == ProductGate::kNone)
    while (place.product + 1 < args.count && at >= tile_groups(args.w[place.product]))
      at -= tile_groups(args.w[place.product++]);
  place.tile = at * kTiles;
  return place;
}

/// Where a warp reads its tile of the `at`-th group.
template <TileCode kCode, unsigned kGroup>
__device__ ChunkSource<kCode, kGroup, true> source_of(const TiledProductCudaArgs& args, unsigned at,
                                                      unsigned groups, unsigned pass, unsigned begin) {
  if (at >= groups) return {};
  const Place place = place_of(args, at);
  const TiledWeight& w = args.w[args.gate == ProductGate::kNone ? place.product : pass];
  return {w, min(place.tile + threadIdx.x / 32, w.tiles() - 1), begin};
}

/// The slices of one output, in order; all are asked for before the first is added.
__device__ float sum_of_slices(const float* mine, unsigned used) {
  float parts[kSlices];
#pragma unroll
  for (unsigned s = 0; s < kSlices; ++s) parts[s] = s < used ? load_from(s, mine) : 0.0F;
  float sum = 0;
#pragma unroll
  for (unsigned s = 0; s < kSlices; ++s)
    if (s < used) sum += parts[s];
  return sum;
}

/// One slice of 16 outputs.
template <TileCode kCode, unsigned kGroup, unsigned kAhead>
__device__ void slice_product(float (&sums)[kRowTiles][4],
                              ChunkSlots<kCode, kGroup, true, kAhead, kThreads>& slots,
                              const ChunkSource<kCode, kGroup, true>& from,
                              const ChunkSource<kCode, kGroup, true>& next, const uint4* inputs,
                              unsigned count) {
  const unsigned lane = threadIdx.x % 32;
  const auto use = [&](const Chunk<kCode, kGroup, true>& chunk) {
#pragma unroll
    for (unsigned unit = 0; unit < 2; ++unit) {
      UnitFragments f = unit_fragments<kCode>(chunk.codes, unit);
      if constexpr (kCode != TileCode::kHalf) scale_fragments(f, chunk.entries[kGroup == 32 ? unit : 0]);
      uint4 h[kRowTiles];
#pragma unroll
      for (unsigned t = 0; t < kRowTiles; ++t) h[t] = inputs[(unit * kRowTiles + t) * 32 + lane];
#pragma unroll
      for (unsigned t = 0; t < kRowTiles; ++t) multiply_add(sums[t], f.a[0], h[t].x, h[t].y);
#pragma unroll
      for (unsigned t = 0; t < kRowTiles; ++t) multiply_add(sums[t], f.a[1], h[t].z, h[t].w);
    }
    inputs += 2 * kRowTiles * 32;
  };
  slots.walk(from, next, count, [&](const Chunk<kCode, kGroup, true>& chunk, unsigned /*c*/) { use(chunk); });
}

// Fast because a block holds its slice of the inputs in shared memory and streams weights through it, and the
// slices of an output meet without passing memory.
template <TileCode kCode, unsigned kGroup, unsigned kAhead>
__global__ void LANNER_CLUSTER __launch_bounds__(kThreads, 2)
    cluster_kernel(const __grid_constant__ TiledProductCudaArgs args) {
  let_next_start();
  extern __shared__ uint4 cluster_shared[];
  const unsigned slice = cluster_rank();
  const unsigned lane = threadIdx.x % 32;
  const bool gate = args.gate != ProductGate::kNone;
  bool odd = false;
  const TiledWeight& shape = args.w[0];
  const unsigned per_slice = slice_chunks(shape);
  const unsigned begin = min(slice * per_slice, shape.chunks);
  const unsigned count = min(begin + per_slice, shape.chunks) - begin;
  unsigned groups = tile_groups(shape);
  if (!gate)
    for (unsigned i = 1; i < args.count; ++i) groups += tile_groups(args.w[i]);
  const unsigned clusters = gridDim.x / kSlices;
  const unsigned first_row = blockIdx.y * kRows;
  const unsigned rows = min(args.rows - first_row, kRows);
  using Slots = ChunkSlots<kCode, kGroup, true, kAhead, kThreads>;
  Slots slots(cluster_shared);
  unsigned at = blockIdx.x / kSlices;
  ChunkSource<kCode, kGroup, true> from = source_of<kCode, kGroup>(args, at, groups, 0, begin);
  slots.start(from, count);
  wait_for_earlier();

  // Rows of this slice, then sums of it: [parity of the group][product of a gate][tile][row][16].
  uint4* inputs = cluster_shared + Slots::kBytes / sizeof(uint4);
  float* sums_of = reinterpret_cast<float*>(inputs + per_slice * 2 * kRowTiles * 32);
  for (unsigned i = threadIdx.x; i < count * 2 * kRowTiles * 32; i += kThreads) {
    const unsigned unit = i / (kRowTiles * 32);
    const unsigned t = i / 32 % kRowTiles;
    const auto* x = static_cast<const uint4*>(args.x.high) +
                    (std::size_t{begin * 2 + unit} * args.x.row_tiles + first_row / 8 + t) * 32 + i % 32;
    inputs[i] = t < (rows + 7) / 8 ? __ldcg(x) : uint4{};
  }
  __syncthreads();
  const unsigned used = used_slices(shape);
  for (; at < groups; at += clusters) {
    const Place place = place_of(args, at);
    const TiledWeight& w = args.w[place.product];
    for (unsigned pass = 0; pass < (gate ? 2U : 1U); ++pass) {
      float sums[kRowTiles][4] = {};
      const bool last = !gate || pass == 1;
      const ChunkSource<kCode, kGroup, true> next =
          source_of<kCode, kGroup>(args, last ? at + clusters : at, groups, last ? 0 : 1, begin);
      slice_product<kCode, kGroup, kAhead>(sums, slots, from, next, inputs, count);
      from = next;
      float* to = sums_of + pass * kSumFloats + threadIdx.x / 32 * 16 * kRows;
#pragma unroll
      for (unsigned t = 0; t < kRowTiles; ++t)
#pragma unroll
        for (unsigned i = 0; i < 4; ++i)
          to[(t * 8 + lane % 4 * 2 + i % 2) * 16 + lane / 4 + i / 2 * 8] = sums[t][i];
    }
    wait_for_cluster();
    // Every block finishes its share of the outputs; the next group's sums go beside these.
    constexpr unsigned kShare = kSumFloats / kSlices;
    for (unsigned i = threadIdx.x; i < kShare; i += kThreads) {
      const unsigned element = slice * kShare + i;
      const unsigned row = element / 16 % kRows;
      const unsigned n = (place.tile + element / (16 * kRows)) * 16 + element % 16;
      if (row >= rows || n >= w.rows) continue;
      const std::size_t packed = std::size_t{first_row} + row;
      float value = sum_of_slices(sums_of + element, used) * (args.x.factors[packed] * w.factors[n]);
      if (gate) {
        const float up = sum_of_slices(sums_of + kSumFloats + element, used);
        value = gated(args.gate, value, up * (args.x.factors[packed] * args.w[1].factors[n]));
      }
      const std::size_t to = packed * w.rows + n;
      const float* residual = args.residual[place.product];
      args.out[place.product][to] = residual == nullptr ? value : residual[to] + value;
    }
    const unsigned other = (gate ? 2 : 1) * kSumFloats;
    sums_of = odd ? sums_of - other : sums_of + other;
    odd = !odd;
  }
  wait_copies<0>();
  wait_for_cluster();  // nobody leaves while others read its sums
}

template <TileCode kCode>
constexpr unsigned kClusterAhead = kCode == TileCode::kInt4   ? 6
                                   : kCode == TileCode::kInt8 ? 3
                                                              : 2;

std::size_t shared_bytes(const TiledProductCudaArgs& args, std::size_t slot_bytes) {
  const std::size_t products = args.gate == ProductGate::kNone ? 1 : 2;
  return slot_bytes + std::size_t{slice_chunks(args.w[0])} * 2 * kRowTiles * 32 * sizeof(uint4) +
         2 * products * kSumFloats * sizeof(float);
}

}  // namespace

bool can_cluster(const CudaQueue& queue, const TiledProductCudaArgs& args) {
  constexpr std::size_t kMostSlotBytes = ChunkSlots<TileCode::kInt4, 32, true, 6, kThreads>::kBytes;
  return queue.warpgroups() && args.w[0].half && args.experts.experts == 0 && args.rows < kLargeTileRows &&
         shared_bytes(args, kMostSlotBytes) <= kMostSharedBytes;
}

void cluster_product(CudaQueue& queue, const TiledProductCudaArgs& args) {
  std::uint32_t groups = 0;
  for (unsigned i = 0; i < (args.gate == ProductGate::kNone ? args.count : 1); ++i)
    groups += tile_groups(args.w[i]);
  const std::uint32_t row_groups = blocks_for(args.rows, kRows);
  const std::uint32_t clusters =
      std::max(2 * std::uint32_t(queue.multiprocessors()) / kSlices / row_groups, 1U);
  const Grid grid = {std::min(groups, clusters) * kSlices, row_groups};
  for_kind(args.w[0], [&]<TileCode kCode, unsigned kGroup, bool kHalf>() {
    if constexpr (kHalf) {
      constexpr unsigned kAhead = kClusterAhead<kCode>;
      const Block block = {kThreads,
                           shared_bytes(args, ChunkSlots<kCode, kGroup, true, kAhead, kThreads>::kBytes)};
      queue.launch(cluster_kernel<kCode, kGroup, kAhead>, grid, block, args);
    }
  });
}

}  // namespace lanner::kernels
