// SPDX-License-Identifier: MIT
#include "kernels/linear/tile_kernels.h"
#include "kernels/linear/tile_product.cuh"

namespace lanner::kernels {
namespace {

// A block: 4 warps along the outputs, 32 each, by 2 along the rows, 64 each.
constexpr unsigned kThreads = 256;
constexpr unsigned kTileOutputs = 128;
constexpr unsigned kTileRows = 128;
constexpr unsigned kRowTiles = kTileRows / 8;
constexpr unsigned kWarpTiles = 8;  // row tiles of a warp
constexpr unsigned kStages = 4;
constexpr unsigned kStageVectors = 2 * kRowTiles * 32;  // of a chunk, 16 bytes each
constexpr std::size_t kInputBytes = std::size_t{kStages} * kStageVectors * 16;

__device__ void copy_async(void* to, const void* from, bool valid) {
  const unsigned address = unsigned(__cvta_generic_to_shared(to));
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes));
}

__device__ void commit_copies() { asm volatile("cp.async.commit_group;"); }

template <unsigned kLeft>
__device__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

/// Where a block stands.
struct Place {
  unsigned tile = 0;      ///< first output tile of this warp
  unsigned row_tile = 0;  ///< first row tile of the block in the split rows
  unsigned rows = 0;      ///< rows of the block
};

/// Asks for the input rows of one chunk.
__device__ void load_inputs(uint4* stage, const SplitRows& x, unsigned chunk, const Place& place) {
  const unsigned row_tiles = (place.rows + 7) / 8;
#pragma unroll
  for (unsigned i = threadIdx.x; i < kStageVectors; i += kThreads) {
    const unsigned tile = i / 32 % kRowTiles;
    const unsigned unit = i / (32 * kRowTiles);
    const bool valid = tile < row_tiles;
    copy_async(stage + i,
               static_cast<const uint4*>(x.high) +
                   (std::size_t{chunk * 2 + unit} * x.row_tiles + place.row_tile + (valid ? tile : 0)) * 32 +
                   i % 32,
               valid);
  }
}

/// Codes and tables of one chunk for a warp's two output tiles.
template <TileCode kCode, unsigned kGroup>
struct Codes {
  static constexpr unsigned kEntries = kGroup == 32 ? 2 : 1;
  uint4 codes[2][kCodeVectors<kCode>];
  uint2 entries[2][kEntries];

  __device__ void load(const TiledWeight& w, unsigned first_tile, unsigned chunk, unsigned lane) {
#pragma unroll
    for (unsigned m = 0; m < 2; ++m) {
      const unsigned tile = min(first_tile + m, w.tiles() - 1);
#pragma unroll
      for (unsigned v = 0; v < kCodeVectors<kCode>; ++v)
        codes[m][v] = __ldg(static_cast<const uint4*>(w.codes) +
                            ((std::size_t{tile} * w.chunks + chunk) * kCodeVectors<kCode> + v) * 32 + lane);
      if constexpr (kCode != TileCode::kHalf) {
#pragma unroll
        for (unsigned e = 0; e < kEntries; ++e)
          entries[m][e] =
              __ldg(static_cast<const uint2*>(w.tables) +
                    (std::size_t{tile} * (w.chunks * 64 / kGroup) + chunk * 64 / kGroup + e) * 8 + lane / 4);
      }
    }
  }
};

using Sums = float[2][kWarpTiles][4];

template <TileCode kCode, unsigned kGroup>
__device__ void multiply_chunk(Sums& sums, const Codes<kCode, kGroup>& codes, const uint4* stage) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned column = threadIdx.x / 32 % 2 * kWarpTiles;  // first row tile of this warp inside the block
#pragma unroll
  for (unsigned unit = 0; unit < 2; ++unit) {
    UnitFragments f[2];
#pragma unroll
    for (unsigned m = 0; m < 2; ++m)
      f[m] = unit_elements<kCode>(codes.codes[m], unit, codes.entries[m][kGroup == 32 ? unit : 0]);
    uint4 inputs[kWarpTiles];
#pragma unroll
    for (unsigned t = 0; t < kWarpTiles; ++t) inputs[t] = stage[(unit * kRowTiles + column + t) * 32 + lane];
      // All sums once before the same again, so that the tensor cores need not wait.
#pragma unroll
    for (unsigned t = 0; t < kWarpTiles; ++t)
#pragma unroll
      for (unsigned m = 0; m < 2; ++m) multiply_add(sums[m][t], f[m].a[0], inputs[t].x, inputs[t].y);
#pragma unroll
    for (unsigned t = 0; t < kWarpTiles; ++t)
#pragma unroll
      for (unsigned m = 0; m < 2; ++m) multiply_add(sums[m][t], f[m].a[1], inputs[t].z, inputs[t].w);
  }
}

__device__ void store(const ProductOut& to, const Sums& totals, const TiledWeight& w, const SplitRows& x,
                      const Place& place) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned column = threadIdx.x / 32 % 2 * kWarpTiles;
#pragma unroll
  for (unsigned m = 0; m < 2; ++m)
#pragma unroll
    for (unsigned t = 0; t < kWarpTiles; ++t)
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        const unsigned row = (column + t) * 8 + lane % 4 * 2 + i % 2;
        const unsigned n = (place.tile + m) * 16 + lane / 4 + i / 2 * 8;
        if (row >= place.rows || n >= w.rows) continue;
        const std::size_t packed = std::size_t{place.row_tile} * 8 + row;
        const std::size_t at = packed * w.rows + n;
        const float value = totals[m][t][i] * (x.factors[packed] * w.factors[n]);
        write_result(to, at, value);
      }
}

// Fast because a code is widened once for 64 rows and all sums of a warp are in flight on the tensor cores at
// once, fed from shared memory several chunks ahead.
template <TileCode kCode, unsigned kGroup>
__device__ void wide_tile(uint4* shared, const TiledWeight w, const SplitRows& x, const ProductOut& to,
                          const Place& place) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (unsigned chunk = 0; chunk < kStages - 1; ++chunk) {
    if (chunk < w.chunks) load_inputs(shared + chunk * kStageVectors, x, chunk, place);
    commit_copies();
  }
  Codes<kCode, kGroup> codes;
  codes.load(w, place.tile, 0, lane);
  Sums sums = {};
  Sums totals = {};
  const unsigned per_slice = slice_chunks(w);
  unsigned left = per_slice;
  for (unsigned chunk = 0; chunk < w.chunks; ++chunk) {
    wait_copies<kStages - 2>();
    __syncthreads();
    if (chunk + kStages - 1 < w.chunks)
      load_inputs(shared + (chunk + kStages - 1) % kStages * kStageVectors, x, chunk + kStages - 1, place);
    commit_copies();
    Codes<kCode, kGroup> next;
    next.load(w, place.tile, min(chunk + 1, w.chunks - 1), lane);
    multiply_chunk<kCode, kGroup>(sums, codes, shared + chunk % kStages * kStageVectors);
    codes = next;
    if (--left != 0 && chunk + 1 != w.chunks) continue;
    left = per_slice;
#pragma unroll
    for (unsigned m = 0; m < 2; ++m)
#pragma unroll
      for (unsigned t = 0; t < kWarpTiles; ++t)
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) {
          totals[m][t][i] += sums[m][t][i];
          sums[m][t][i] = 0;
        }
  }
  store(to, totals, w, x, place);
}

template <TileCode kCode, unsigned kGroup>
__global__ void __launch_bounds__(kThreads, 1)
    wide_half_kernel(const __grid_constant__ TiledProductCudaArgs args) {
  begin_kernel();
  extern __shared__ uint4 wide_half_shared[];
  const unsigned tile = blockIdx.y * (kTileOutputs / 16) + threadIdx.x / 64 * 2;
  const BlockRows rows = block_rows(args, blockIdx.x, kTileRows);
  if (rows.count == 0) return;
  wide_tile<kCode, kGroup>(wide_half_shared, *rows.w, args.x, {args.out[0], args.residual[0]},
                           {tile, rows.first / 8, rows.count});
}

}  // namespace

void wide_half_product(CudaQueue& queue, const TiledProductCudaArgs& args) {
  // Blocks that run together read the same weights.
  const Grid grid = {row_blocks(args, kTileRows), blocks_for(args.w[0].rows, kTileOutputs)};
  for_kind(args.w[0], [&]<TileCode kCode, unsigned kGroup, bool kHalf>() {
    if constexpr (kHalf) queue.launch(wide_half_kernel<kCode, kGroup>, grid, {kThreads, kInputBytes}, args);
  });
}

}  // namespace lanner::kernels
