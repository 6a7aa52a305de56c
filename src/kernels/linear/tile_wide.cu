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
constexpr unsigned kStages = 3;
constexpr unsigned kTogether = 2;  // row tiles whose products are interleaved
// High and low parts of one chunk for 16 row tiles, then the sums of its two units, in 16-byte vectors.
constexpr unsigned kPartVectors = 2 * 2 * kRowTiles * 32;
constexpr unsigned kSumVectors = kTileRows / 4;  // of a unit
constexpr unsigned kStageVectors = kPartVectors + 2 * kSumVectors;
constexpr std::size_t kInputBytes = std::size_t{kStages} * kStageVectors * 16;
constexpr std::size_t kTotalBytes = std::size_t{kTileOutputs} * kTileRows * sizeof(float);

__device__ void copy_async(void* to, const void* from, bool valid) {
  const unsigned address = unsigned(__cvta_generic_to_shared(to));
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes));
}

__device__ void commit_copies() { asm volatile("cp.async.commit_group;"); }

template <unsigned kLeft>
__device__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft));
}

/// Asks for the input rows of one chunk.
__device__ void load_inputs(uint4* stage, const SplitRows& x, unsigned chunk, unsigned row_tile,
                            unsigned row_tiles) {
#pragma unroll
  for (unsigned i = threadIdx.x; i < kPartVectors; i += kThreads) {
    const unsigned lane = i % 32;
    const unsigned tile = i / 32 % kRowTiles;
    const unsigned unit = i / (32 * kRowTiles) % 2;
    const auto* part = static_cast<const uint4*>(i < kPartVectors / 2 ? x.high : x.low);
    const bool valid = tile < row_tiles;
    copy_async(
        stage + i,
        part + (std::size_t{chunk * 2 + unit} * x.row_tiles + row_tile + (valid ? tile : 0)) * 32 + lane,
        valid);
  }
  if (threadIdx.x < 2 * kSumVectors) {
    const unsigned unit = threadIdx.x / kSumVectors;
    const unsigned quad = threadIdx.x % kSumVectors;
    const bool valid = quad / 2 < row_tiles;
    copy_async(stage + kPartVectors + threadIdx.x,
               reinterpret_cast<const float4*>(x.sums) +
                   (std::size_t{chunk * 2 + unit} * x.row_tiles + row_tile) * 2 + (valid ? quad : 0),
               valid);
  }
  commit_copies();
}

template <TileCode kCode>
struct Codes {
  uint4 codes[2][kCodeVectors<kCode>];

  __device__ void load(const TiledWeight& w, unsigned tile, unsigned chunk, unsigned lane) {
#pragma unroll
    for (unsigned m = 0; m < 2; ++m)
#pragma unroll
      for (unsigned v = 0; v < kCodeVectors<kCode>; ++v)
        codes[m][v] = __ldg(
            static_cast<const uint4*>(w.codes) +
            ((std::size_t{min(tile + m, w.tiles() - 1)} * w.chunks + chunk) * kCodeVectors<kCode> + v) * 32 +
            lane);
  }
};

struct WarpTile {
  float sums[2][8][4];
  float part[2][8][4];
};

/// Where a block stands.
struct Place {
  unsigned tile = 0;      ///< first output tile of this warp
  unsigned row_tile = 0;  ///< first row tile of the block in the split rows
  unsigned rows = 0;      ///< rows of the block
};

template <TileCode kCode, unsigned kGroup>
__device__ void multiply_chunk(WarpTile& acc, const Codes<kCode>& codes, const uint4* stage,
                               const TiledWeight& w, const SplitRows& x, const Place& place, unsigned chunk) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned column = threadIdx.x / 32 % 2 * 8;  // first row tile of this warp inside the block
#pragma unroll
  for (unsigned unit = 0; unit < 2; ++unit) {
    const UnitFragments f[2] = {unit_fragments<kCode>(codes.codes[0], unit),
                                unit_fragments<kCode>(codes.codes[1], unit)};
#pragma unroll
    for (unsigned t = 0; t < 8; t += kTogether) {
      uint4 high[kTogether];
      uint4 low[kTogether];
#pragma unroll
      for (unsigned i = 0; i < kTogether; ++i) {
        high[i] = stage[(unit * kRowTiles + column + t + i) * 32 + lane];
        low[i] = stage[((2 + unit) * kRowTiles + column + t + i) * 32 + lane];
      }
      // Sums of the same tile follow each other at a distance, so that the tensor cores need not wait.
#pragma unroll
      for (unsigned step = 0; step < 2; ++step) {
#pragma unroll
        for (unsigned i = 0; i < kTogether; ++i)
#pragma unroll
          for (unsigned m = 0; m < 2; ++m)
            multiply_add(acc.part[m][t + i], f[m].a[step], step == 0 ? high[i].x : high[i].z,
                         step == 0 ? high[i].y : high[i].w);
#pragma unroll
        for (unsigned i = 0; i < kTogether; ++i)
#pragma unroll
          for (unsigned m = 0; m < 2; ++m)
            multiply_add(acc.part[m][t + i], f[m].a[step], step == 0 ? low[i].x : low[i].z,
                         step == 0 ? low[i].y : low[i].w);
      }
    }
    const bool group_ends = kGroup == 32 || (unit == 1 && (kGroup == 64 || chunk % 2 == 1));
    if (!group_ends) continue;
    const unsigned last_unit = chunk * 2 + unit;
    OutputPair outputs[2];
#pragma unroll
    for (unsigned m = 0; m < 2; ++m)
      outputs[m] =
          output_pair(__ldg(static_cast<const uint2*>(w.tables) +
                            (std::size_t{min(place.tile + m, w.tiles() - 1)} * (w.chunks * 64 / kGroup) +
                             last_unit * 32 / kGroup) *
                                8 +
                            lane / 4),
                      w.f16_tables);
    const auto* unit_sums = reinterpret_cast<const float2*>(stage + kPartVectors) + column * 4 + lane % 4;
#pragma unroll
    for (unsigned t = 0; t < 8; ++t) {
      float2 inputs = {};
      if constexpr (kGroup == 128) {
        // The chunk before has left shared memory.
        const unsigned tile = min(place.row_tile + column + t, x.row_tiles - 1);
#pragma unroll
        for (unsigned back = 4; back > 0; --back)
          inputs =
              add2(inputs, __ldg(reinterpret_cast<const float2*>(x.sums) +
                                 (std::size_t{last_unit + 1 - back} * x.row_tiles + tile) * 4 + lane % 4));
      } else if constexpr (kGroup == 64) {
        inputs = add2(add2(inputs, unit_sums[t * 4]), unit_sums[kSumVectors * 2 + t * 4]);
      } else {
        inputs = add2(inputs, unit_sums[unit * kSumVectors * 2 + t * 4]);
      }
      end_group(acc.sums[0][t], acc.part[0][t], outputs[0], inputs);
      end_group(acc.sums[1][t], acc.part[1][t], outputs[1], inputs);
    }
  }
}

/// Adds a finished slice to the totals, which lie thread by thread in shared memory.
__device__ void end_slice(WarpTile& acc, float* total, bool first) {
#pragma unroll
  for (unsigned m = 0; m < 2; ++m)
#pragma unroll
    for (unsigned t = 0; t < 8; ++t)
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        float& sum = total[((m * 8 + t) * 4 + i) * kThreads + threadIdx.x];
        sum = (first ? 0.0F : sum) + acc.sums[m][t][i];
        acc.sums[m][t][i] = 0;
      }
}

__device__ void store_totals(const ProductOut& to, const float* total, const TiledWeight& w,
                             const SplitRows& x, const Place& place) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned column = threadIdx.x / 32 % 2 * 8;
#pragma unroll
  for (unsigned m = 0; m < 2; ++m)
#pragma unroll
    for (unsigned t = 0; t < 8; ++t)
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        const unsigned row = (column + t) * 8 + lane % 4 * 2 + i % 2;
        const unsigned n = (place.tile + m) * 16 + lane / 4 + i / 2 * 8;
        if (row >= place.rows || n >= w.rows) continue;
        const std::size_t packed = std::size_t{place.row_tile} * 8 + row;
        const float value = total[((m * 8 + t) * 4 + i) * kThreads + threadIdx.x] * x.factors[packed];
        write_result(to, packed * w.rows + n, value);
      }
}

// Fast because a code is widened once for 64 rows and inputs come through shared memory, three chunks ahead.
template <TileCode kCode, unsigned kGroup>
__device__ void wide_tile(uint4* shared, const TiledWeight w, const SplitRows& x, const ProductOut& to,
                          const Place& place) {
  auto* total = reinterpret_cast<float*>(shared) + kInputBytes / sizeof(float);
  const unsigned lane = threadIdx.x % 32;
  const unsigned row_tiles = (place.rows + 7) / 8;
  for (unsigned chunk = 0; chunk < kStages - 1; ++chunk) {
    if (chunk < w.chunks)
      load_inputs(shared + chunk * kStageVectors, x, chunk, place.row_tile, row_tiles);
    else
      commit_copies();
  }
  Codes<kCode> codes;
  codes.load(w, place.tile, 0, lane);
  WarpTile acc = {};
  const unsigned per_slice = slice_chunks(w);
  for (unsigned chunk = 0; chunk < w.chunks; ++chunk) {
    wait_copies<kStages - 2>();
    __syncthreads();
    if (chunk + kStages - 1 < w.chunks)
      load_inputs(shared + (chunk + kStages - 1) % kStages * kStageVectors, x, chunk + kStages - 1,
                  place.row_tile, row_tiles);
    else
      commit_copies();
    Codes<kCode> next;
    next.load(w, place.tile, min(chunk + 1, w.chunks - 1), lane);
    multiply_chunk<kCode, kGroup>(acc, codes, shared + chunk % kStages * kStageVectors, w, x, place, chunk);
    codes = next;
    if ((chunk + 1) % per_slice == 0 || chunk + 1 == w.chunks) end_slice(acc, total, chunk < per_slice);
  }
  store_totals(to, total, w, x, place);
}

template <TileCode kCode, unsigned kGroup>
__global__ void __launch_bounds__(kThreads, 1)
    wide_kernel(const __grid_constant__ TiledProductCudaArgs args) {
  begin_kernel();
  extern __shared__ uint4 wide_shared[];
  const unsigned tile = blockIdx.x * (kTileOutputs / 16) + threadIdx.x / 64 * 2;
  const BlockRows rows = block_rows(args, blockIdx.y, kTileRows);
  if (rows.count == 0) return;
  wide_tile<kCode, kGroup>(wide_shared, *rows.w, args.x, {args.out[0], args.residual[0]},
                           {tile, rows.first / 8, rows.count});
}

template <TileCode kCode, unsigned kGroup>
void run(CudaQueue& queue, const TiledProductCudaArgs& args) {
  const Grid grid = {blocks_for(args.w[0].rows, kTileOutputs), row_blocks(args, kTileRows)};
  queue.launch(wide_kernel<kCode, kGroup>, grid, {kThreads, kInputBytes + kTotalBytes}, args);
}

}  // namespace

void wide_product(CudaQueue& queue, const TiledProductCudaArgs& args) {
  for_kind(args.w[0], [&]<TileCode kCode, unsigned kGroup, bool kHalf>() {
    if constexpr (!kHalf) run<kCode, kGroup>(queue, args);
  });
}

}  // namespace lanner::kernels
