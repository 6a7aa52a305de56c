// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/linear/tile_kernels.h"
#include "kernels/linear/tile_product.cuh"

namespace lanner::kernels {
namespace {

constexpr unsigned kThreads = 32 * kSlices;

// Chunks whose codes a lane asks for before it uses the ones it has.
template <TileCode kCode>
constexpr unsigned kBatch = kCode == TileCode::kInt4   ? 4
                            : kCode == TileCode::kInt8 ? 2
                                                       : 1;

template <TileCode kCode, unsigned kGroup>
struct Batch {
  static constexpr unsigned kEntries = kGroup == 32 ? 2 : 1;  // table entries of a chunk
  uint4 codes[kBatch<kCode>][kCodeVectors<kCode>];
  uint2 entries[kBatch<kCode>][kEntries];

  // Streaming loads: no weight is read twice in a step.
  __device__ void load(const TiledWeight& w, unsigned tile, unsigned chunk, unsigned end, unsigned lane) {
    const auto* base = static_cast<const uint4*>(w.codes) +
                       (std::size_t{tile} * w.chunks + chunk) * (32 * kCodeVectors<kCode>)+lane;
    const auto* tables =
        static_cast<const uint2*>(w.tables) + std::size_t{tile} * (w.chunks * 64 / kGroup) * 8 + lane / 4;
#pragma unroll
    for (unsigned i = 0; i < kBatch<kCode>; ++i) {
      if (chunk + i >= end) break;
#pragma unroll
      for (unsigned v = 0; v < kCodeVectors<kCode>; ++v)
        codes[i][v] = __ldcs(base + (i * kCodeVectors<kCode> + v) * 32);
#pragma unroll
      for (unsigned e = 0; e < kEntries; ++e)
        entries[i][e] = __ldcs(tables + ((chunk + i) * 64 / kGroup + e) * 8);
    }
  }
};

/// The rows of the input a block works on.
struct RowRange {
  unsigned tile = 0;   ///< first row tile of 8
  unsigned count = 0;  ///< rows
};

/// Split rows as a lane reads them.
struct Inputs {
  const uint4* high = nullptr;   ///< this lane's part of unit 0
  const uint4* low = nullptr;    ///< likewise; nullptr: one part
  const float2* sums = nullptr;  ///< of rows 2t and 2t + 1
  std::size_t unit_vectors = 0;  ///< between units of high and low
  std::size_t unit_sums = 0;     ///< between units of sums

  __device__ static Inputs global(const SplitRows& x, const RowRange& rows, unsigned lane) {
    return {
        static_cast<const uint4*>(x.high) + std::size_t{rows.tile} * 32 + lane,
        x.low == nullptr ? nullptr : static_cast<const uint4*>(x.low) + std::size_t{rows.tile} * 32 + lane,
        reinterpret_cast<const float2*>(x.sums) + rows.tile * 4 + lane % 4, std::size_t{x.row_tiles} * 32,
        std::size_t{x.row_tiles} * 4};
  }
};

/// One slice of 16 outputs times up to 8 * kTiles rows.
template <TileCode kCode, unsigned kGroup, unsigned kTiles, bool kHalf>
__device__ void slice_product(float (&sums)[kTiles][4], const TiledWeight w, const Inputs& x, unsigned tile,
                              const RowRange& rows) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned per_slice = slice_chunks(w);
  const unsigned begin = min(threadIdx.x / 32 * per_slice, w.chunks);
  const unsigned end = min(begin + per_slice, w.chunks);
  float part[kTiles][4] = {};
  float2 inputs[kTiles] = {};
  Batch<kCode, kGroup> batch;
  batch.load(w, tile, begin, end, lane);
  for (unsigned first = begin; first < end; first += kBatch<kCode>) {
    Batch<kCode, kGroup> next;
    if (first + kBatch<kCode> < end) next.load(w, tile, first + kBatch<kCode>, end, lane);
#pragma unroll
    for (unsigned i = 0; i < kBatch<kCode>; ++i) {
      const unsigned chunk = first + i;
      if (chunk >= end) break;
#pragma unroll
      for (unsigned unit = 0; unit < 2; ++unit) {
        UnitFragments f;
        if constexpr (kHalf)
          f = unit_elements<kCode>(batch.codes[i], unit, batch.entries[i][kGroup == 32 ? unit : 0]);
        else
          f = unit_fragments<kCode>(batch.codes[i], unit);
        const std::size_t at = chunk * 2 + unit;
        const bool group_ends = kGroup == 32 || (unit == 1 && (kGroup == 64 || chunk % 2 == 1));
        OutputPair outputs;
        if (!kHalf && group_ends)
          outputs = output_pair(batch.entries[i][kGroup == 32 ? unit : 0], w.f16_tables);
#pragma unroll
        for (unsigned t = 0; t < kTiles; ++t) {
          uint4 h = {};
          uint4 l = {};
          if (t * 8 + lane / 4 < rows.count) {
            h = x.high[at * x.unit_vectors + t * 32];
            if constexpr (!kHalf) l = x.low[at * x.unit_vectors + t * 32];
          }
          if constexpr (kHalf) {
            multiply_unit_half(sums[t], f, h);
            continue;
          }
          multiply_unit(part[t], f, h, l);
          float2 unit_inputs = {};
          if (t * 8 < rows.count) unit_inputs = x.sums[at * x.unit_sums + t * 4];
          inputs[t] = add2(inputs[t], unit_inputs);
          if (group_ends) {
            end_group(sums[t], part[t], outputs, inputs[t]);
            inputs[t] = {};
          }
        }
      }
    }
    batch = next;
  }
}

/// Adds the slices of a block in order: the sum of (output, row) = (element / row count, rest) for each
/// element.
template <unsigned kTiles>
__device__ void store_slice(float* shared, const float (&sums)[kTiles][4]) {
  float* mine = shared + threadIdx.x / 32 * (16 * 8 * kTiles);
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (unsigned t = 0; t < kTiles; ++t)
#pragma unroll
    for (unsigned i = 0; i < 4; ++i)
      mine[(t * 8 + lane % 4 * 2 + i % 2) * 16 + lane / 4 + i / 2 * 8] = sums[t][i];
}

template <unsigned kTiles>
__device__ float sum_of_slices(const float* shared, unsigned element, unsigned slices) {
  float total = 0;
  for (unsigned slice = 0; slice < slices; ++slice) total += shared[slice * (16 * 8 * kTiles) + element];
  return total;
}

/// 16 outputs of one product, or of two and their gate, for one range of rows.
template <TileCode kCode, unsigned kGroup, unsigned kTiles, bool kHalf>
__device__ void block_product(float* shared, const TiledWeight* const (&weights)[2], ProductGate gate,
                              const Inputs& inputs, const float* factors, const ProductOut& to, unsigned tile,
                              const RowRange& rows) {
  constexpr unsigned kOutputs = 16 * 8 * kTiles;
  const unsigned passes = gate == ProductGate::kNone ? 1 : 2;
#pragma unroll 1
  for (unsigned pass = 0; pass < passes; ++pass) {
    float sums[kTiles][4] = {};
    slice_product<kCode, kGroup, kTiles, kHalf>(sums, *weights[pass], inputs, tile, rows);
    store_slice<kTiles>(shared + pass * kSlices * kOutputs, sums);
  }
  __syncthreads();
  const unsigned slices = used_slices(*weights[0]);
  const unsigned width = weights[0]->rows;
  for (unsigned element = threadIdx.x; element < kOutputs; element += kThreads) {
    const unsigned row = element / 16;
    const unsigned n = tile * 16 + element % 16;
    if (row >= rows.count || n >= width) continue;
    float factor = factors[rows.tile * 8 + row];
    if constexpr (kHalf) factor *= weights[0]->factors[n];
    float value = sum_of_slices<kTiles>(shared, element, slices) * factor;
    if (passes == 2)
      value = gated(gate, value,
                    sum_of_slices<kTiles>(shared + kSlices * kOutputs, element, slices) *
                        (kHalf ? factors[rows.tile * 8 + row] * weights[1]->factors[n] : factor));
    const std::size_t at = (std::size_t{rows.tile} * 8 + row) * width + n;
    write_result(to, at, value);
  }
  __syncthreads();
}

// Fast because every warp streams whole runs of codes with several 16-byte loads in flight, and a block walks
// many tiles, so that its turnover does not count.
template <TileCode kCode, unsigned kGroup, unsigned kTiles, bool kHalf>
__global__ void __launch_bounds__(kThreads) narrow_kernel(const __grid_constant__ TiledProductCudaArgs args) {
  begin_kernel();
  extern __shared__ float shared[];
  const unsigned lane = threadIdx.x % 32;
  const TiledWeight* weights[2] = {&args.w[0], &args.w[1]};
  const unsigned products = args.gate == ProductGate::kNone ? args.count : 1;
  unsigned tiles = weights[0]->tiles();
  for (unsigned i = 1; i < products; ++i) tiles += args.w[i].tiles();
  for (unsigned at = blockIdx.x; at < tiles; at += gridDim.x) {
    unsigned tile = at;
    unsigned i = 0;
    while (products > 1 && tile >= args.w[i].tiles()) tile -= args.w[i++].tiles();
    if (products > 1) weights[0] = &args.w[i];
    for (unsigned first = 0; first < args.rows; first += 8 * kTiles) {
      const RowRange rows = {first / 8, min(args.rows - first, 8 * kTiles)};
      block_product<kCode, kGroup, kTiles, kHalf>(shared, weights, args.gate,
                                                  Inputs::global(args.x, rows, lane), args.x.factors,
                                                  {args.out[i], args.residual[i]}, tile, rows);
    }
  }
}

template <TileCode kCode, unsigned kGroup, unsigned kTiles, bool kHalf>
void run(CudaQueue& queue, const TiledProductCudaArgs& args) {
  const std::size_t both = args.gate == ProductGate::kNone ? 1 : 2;
  const std::size_t shared = both * kSlices * 16 * 8 * kTiles * sizeof(float);
  std::uint32_t tiles = 0;
  for (unsigned i = 0; i < (both == 2 ? 1 : args.count); ++i) tiles += args.w[i].tiles();
  const auto resident = std::uint32_t(queue.multiprocessors() * (kTiles <= 2 ? 2 : 1));
  queue.launch(narrow_kernel<kCode, kGroup, kTiles, kHalf>, {std::min(tiles, resident)}, {kThreads, shared},
               args);
}

template <TileCode kCode, unsigned kGroup, bool kHalf>
void run_for_rows(CudaQueue& queue, const TiledProductCudaArgs& args) {
  if (args.rows <= 8)
    run<kCode, kGroup, 1, kHalf>(queue, args);
  else if (args.rows <= 16)
    run<kCode, kGroup, 2, kHalf>(queue, args);
  else
    run<kCode, kGroup, 4, kHalf>(queue, args);
}

}  // namespace

void narrow_product(CudaQueue& queue, const TiledProductCudaArgs& args) {
  for_kind(args.w[0], [&]<TileCode kCode, unsigned kGroup, bool kHalf>() {
    run_for_rows<kCode, kGroup, kHalf>(queue, args);
  });
}

}  // namespace lanner::kernels
