// SPDX-License-Identifier: MIT
#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/linear/tile_kernels.h"
#include "kernels/linear/tile_product.cuh"

namespace lanner::kernels {
namespace {

// A block: two groups of 4 warps with 64 outputs each by 128 rows.
constexpr unsigned kGroups = 2;
constexpr unsigned kGroupThreads = 128;
constexpr unsigned kThreads = kGroups * kGroupThreads;
constexpr unsigned kTileOutputs = kGroups * 64;
constexpr unsigned kTileRows = 128;
constexpr unsigned kRowTiles = kTileRows / 8;
constexpr unsigned kStages = 6;
constexpr unsigned kFetchAhead = kStages - 2;        // so that the groups need not keep in step
constexpr unsigned kStepBytes = kTileRows * 16 * 2;  // of 16 inputs
constexpr unsigned kStageBytes = 4 * kStepBytes;     // of a chunk
constexpr unsigned kSums = 64;                       // of a thread: 64 outputs by 128 rows over 128 threads

/// Where a block stands.
struct Place {
  unsigned tile = 0;      ///< output tile of this warp
  unsigned row_tile = 0;  ///< first row tile of the block in the split rows
  unsigned rows = 0;      ///< rows of the block
};

struct Output {
  float* out;
  const float* residual;
};

#if __CUDA_ARCH_FEAT_SM90_ALL

__device__ void arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

__device__ void init_barrier(std::uint64_t* barrier, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count)
               : "memory");
}

/// Rows of one step in shared memory: blocks of 8 rows by 8 inputs of 128 bytes, the two of a step side by
/// side.
__device__ std::uint64_t describe(unsigned address) {
  return std::uint64_t{(address & 0x3ffffU) >> 4} | std::uint64_t{128 >> 4} << 16 |
         std::uint64_t{256 >> 4} << 32;
}

__device__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
__device__ void wait_products() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }

/// d = (keep ? d : 0) + 64 outputs by 16 inputs by 128 rows. To the bits of multiply_add(): tested by
/// linear_ops_test.
__device__ void multiply_step(float (&d)[kSums], const std::uint32_t (&a)[4], std::uint64_t rows, bool keep) {
  asm volatile(
      "{\n"
      ".reg .pred keep;\n"
      "setp.ne.b32 keep, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, "
      "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, "
      "%42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, "
      "%62, %63}, "
      "{%64, %65, %66, %67}, %68, keep, 1, 1, 0;\n"
      "}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]),
        "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
        "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]),
        "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]),
        "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]),
        "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]),
        "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(rows), "r"(unsigned(keep)));
}

/// Codes and table entries of one chunk of a warp's output tile.
template <TileCode kCode, unsigned kGroup>
struct Codes {
  static constexpr unsigned kEntries = kGroup == 32 ? 2 : 1;
  uint4 codes[kCodeVectors<kCode>];
  uint2 entries[kEntries];

  __device__ void load(const TiledWeight& w, unsigned tile, unsigned chunk) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned v = 0; v < kCodeVectors<kCode>; ++v)
      codes[v] = __ldg(static_cast<const uint4*>(w.codes) +
                       ((std::size_t{tile} * w.chunks + chunk) * kCodeVectors<kCode> + v) * 32 + lane);
    if constexpr (kCode != TileCode::kHalf) {
#pragma unroll
      for (unsigned e = 0; e < kEntries; ++e)
        entries[e] =
            __ldg(static_cast<const uint2*>(w.tables) +
                  (std::size_t{tile} * (w.chunks * 64 / kGroup) + chunk * 64 / kGroup + e) * 8 + lane / 4);
    }
  }
};

/// A chunk's weights as the tensor cores take them.
struct ChunkFragments {
  UnitFragments unit[2];
};

template <TileCode kCode, unsigned kGroup>
__device__ ChunkFragments fragments(const Codes<kCode, kGroup>& codes) {
  ChunkFragments f;
#pragma unroll
  for (unsigned unit = 0; unit < 2; ++unit) {
    f.unit[unit] = unit_fragments<kCode>(codes.codes, unit);
    if constexpr (kCode != TileCode::kHalf)
      scale_fragments(f.unit[unit], codes.entries[kGroup == 32 ? unit : 0]);
  }
  return f;
}

/// The stages of a block's shared memory: full[] is passed when rows have come, empty[] when both groups have
/// used them.
struct Stages {
  std::uint8_t* memory;
  std::uint64_t* full;
  std::uint64_t* empty;
};

/// Asks for the rows of one chunk; by one thread, chunk after chunk.
__device__ void fetch_rows(const Stages& stages, const SplitRows& x, const Place& place, unsigned chunk) {
  const unsigned bytes = (place.rows + 7) / 8 * 256;  // of a step
  const unsigned stage = chunk % kStages;
  if (chunk >= kStages) wait_barrier(stages.empty + stage, (chunk / kStages - 1) % 2);
  expect_bytes(stages.full + stage, 4 * bytes);
  for (unsigned step = 0; step < 4; ++step)
    copy_bulk(stages.memory + stage * kStageBytes + step * kStepBytes,
              static_cast<const std::uint8_t*>(x.high) +
                  ((std::size_t{chunk} * 4 + step) * x.row_tiles + place.row_tile) * 256,
              bytes, stages.full + stage);
}

__device__ void store(const Output& to, const float (&totals)[kSums], const TiledWeight& w,
                      const SplitRows& x, const Place& place) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (unsigned t = 0; t < kRowTiles; ++t)
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = t * 8 + lane % 4 * 2 + i % 2;
      const unsigned n = place.tile * 16 + lane / 4 + i / 2 * 8;
      if (row >= place.rows || n >= w.rows) continue;
      const std::size_t packed = std::size_t{place.row_tile} * 8 + row;
      const std::size_t at = packed * w.rows + n;
      const float value = totals[t * 4 + i] * (x.factors[packed] * w.factors[n]);
      to.out[at] = to.residual == nullptr ? value : to.residual[at] + value;
    }
}

/// 64 outputs by 128 rows by one group of warps.
template <TileCode kCode, unsigned kGroup>
__device__ void multiply_tile(const Stages& stages, const TiledWeight& w, const SplitRows& x,
                              const Output& to, const Place& place) {
  const unsigned tile = min(place.tile, w.tiles() - 1);
  const unsigned per_slice = slice_chunks(w);
  float sums[kSums];
  float totals[kSums];
#pragma unroll
  for (unsigned i = 0; i < kSums; ++i) sums[i] = totals[i] = 0;
  Codes<kCode, kGroup> codes;
  codes.load(w, tile, 0);
  ChunkFragments f[2];
  f[0] = fragments(codes);
  codes.load(w, tile, min(1U, w.chunks - 1));
  unsigned in_slice = 0;
  const auto run = [&](unsigned chunk, const ChunkFragments& now, ChunkFragments& next) {
    const unsigned stage = chunk % kStages;
    if (threadIdx.x == 0 && chunk + kFetchAhead < w.chunks) fetch_rows(stages, x, place, chunk + kFetchAhead);
    __syncwarp();
    wait_barrier(stages.full + stage, chunk / kStages % 2);
    const unsigned address = shared_address(stages.memory) + stage * kStageBytes;
    begin_products();
#pragma unroll
    for (unsigned step = 0; step < 4; ++step)
      multiply_step(sums, now.unit[step / 2].a[step % 2], describe(address + step * kStepBytes),
                    step != 0 || in_slice != 0);
    end_products();
    // While they run: the next chunk's weights.
    next = fragments(codes);
    codes.load(w, tile, min(chunk + 2, w.chunks - 1));
    wait_products();
    if (threadIdx.x % kGroupThreads == 0) arrive(stages.empty + stage);
    if (++in_slice == per_slice || chunk + 1 == w.chunks) {
      in_slice = 0;
#pragma unroll
      for (unsigned i = 0; i < kSums; ++i) totals[i] += sums[i];
    }
  };
  for (unsigned chunk = 0; chunk < w.chunks; chunk += 2) {
    run(chunk, f[0], f[1]);
    if (chunk + 1 < w.chunks) run(chunk + 1, f[1], f[0]);
  }
  store(to, totals, w, x, place);
}

#endif

// Fast because the tensor cores take rows straight from shared memory, while the weights of the next chunk
// are widened.
template <TileCode kCode, unsigned kGroup>
__global__ void __launch_bounds__(kThreads, 1)
    warpgroup_kernel(const __grid_constant__ TiledProductCudaArgs args) {
  begin_kernel();
#if __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(128) std::uint8_t warpgroup_shared[];
  __shared__ std::uint64_t barriers[2 * kStages];
  const unsigned first = blockIdx.x * kTileRows;
  const TiledWeight* w = &args.w[0];
  unsigned begin = 0;
  unsigned count = args.rows;
  if (args.experts.experts > 0) {
    if (blockIdx.z >= args.experts.active[0]) return;
    const unsigned expert = args.experts.active[1 + blockIdx.z];
    begin = args.experts.begin[expert];
    count = args.experts.counts[expert];
    w = args.experts.first + expert;
  }
  if (first >= count) return;
  const TiledWeight weight = *w;
  const Place place = {blockIdx.y * (kTileOutputs / 16) + threadIdx.x / 32, (begin + first) / 8,
                       min(count - first, kTileRows)};
  const Stages stages = {warpgroup_shared, barriers, barriers + kStages};
  if (threadIdx.x == 0) {
    for (unsigned i = 0; i < kStages; ++i) {
      init_barrier(stages.full + i, 1);
      init_barrier(stages.empty + i, kGroups);
    }
    fence_barriers();
  }
  __syncthreads();
  if (threadIdx.x == 0)
    for (unsigned chunk = 0; chunk < min(kFetchAhead, weight.chunks); ++chunk)
      fetch_rows(stages, args.x, place, chunk);
  multiply_tile<kCode, kGroup>(stages, weight, args.x, {args.out[0], args.residual[0]}, place);
#endif
}

}  // namespace

void warpgroup_product(CudaQueue& queue, const TiledProductCudaArgs& args) {
  const bool experts = args.experts.experts > 0;
  const Grid grid = {blocks_for(experts ? args.experts.pairs : args.rows, kTileRows),
                     blocks_for(args.w[0].rows, kTileOutputs), experts ? args.experts.most : 1U};
  for_kind(args.w[0], [&]<TileCode kCode, unsigned kGroup, bool kHalf>() {
    if constexpr (kHalf)
      queue.launch(warpgroup_kernel<kCode, kGroup>, grid, {kThreads, kStages * kStageBytes}, args);
  });
}

}  // namespace lanner::kernels
