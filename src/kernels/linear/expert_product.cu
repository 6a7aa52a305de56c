// SPDX-License-Identifier: MIT
#include "kernels/linear/chunk_slots.cuh"
#include "kernels/linear/tile_kernels.h"
#include "kernels/linear/tile_product.cuh"

namespace lanner::kernels {
namespace {

// A warp per slice.
constexpr unsigned kThreads = 32 * kSlices;
constexpr unsigned kRows = kExpertTileRows;
static_assert(kRows == 8, "columns of a matrix instruction");

/// The split rows of one tile as a lane reads them.
template <bool kHalf>
struct LaneRows {
  const uint4* high;
  const uint4* low;
  const float* sums[2];  ///< of the rows whose sums this lane holds
  std::size_t unit_vectors;
  std::size_t unit_sums;

  __device__ LaneRows(const SplitRows& x, const ExpertRowsCuda& experts, const ExpertTile& tile) {
    const unsigned lane = threadIdx.x % 32;
    const auto source = [&](unsigned row) {
      return experts.source_of(tile.first + min(row, tile.count - 1));
    };
    const unsigned row = source(lane / 4);
    const std::size_t at = std::size_t{row / 8} * 32 + row % 8 * 4 + lane % 4;
    high = static_cast<const uint4*>(x.high) + at;
    low = static_cast<const uint4*>(x.low) + at;
    unit_vectors = std::size_t{x.row_tiles} * 32;
    unit_sums = std::size_t{x.row_tiles} * 8;
    if constexpr (!kHalf) {
      sums[0] = x.sums + source(lane % 4 * 2);
      sums[1] = x.sums + source(lane % 4 * 2 + 1);
    }
  }

  __device__ uint4 high_of(unsigned unit) const { return __ldcg(high + unit * unit_vectors); }
  __device__ uint4 low_of(unsigned unit) const { return __ldcg(low + unit * unit_vectors); }
  __device__ float2 sums_of(unsigned unit) const {
    return {__ldcg(sums[0] + unit * unit_sums), __ldcg(sums[1] + unit * unit_sums)};
  }
};

/// One slice of 16 outputs of one product: chunks [begin, begin + count), which are `asked`-th and so on of
/// those on their way.
template <TileCode kCode, unsigned kGroup, bool kHalf, typename Take>
__device__ void slice_product(float (&sums)[4], const LaneRows<kHalf>& rows, unsigned begin, unsigned count,
                              bool f16_tables, Take&& take) {
  float part[4] = {};
  float2 inputs = {};
  for (unsigned c = 0; c < count; ++c) {
    const unsigned first = (begin + c) * 2;
    const uint4 high[2] = {rows.high_of(first), rows.high_of(first + 1)};
    const Chunk<kCode, kGroup, kHalf> chunk = take(c);
#pragma unroll
    for (unsigned unit = 0; unit < 2; ++unit) {
      if constexpr (kHalf) {
        multiply_unit_half(sums,
                           unit_elements<kCode>(chunk.codes, unit, chunk.entries[kGroup == 32 ? unit : 0]),
                           high[unit]);
      } else {
        multiply_unit(part, unit_fragments<kCode>(chunk.codes, unit), high[unit], rows.low_of(first + unit));
        inputs = add2(inputs, rows.sums_of(first + unit));
        if (kGroup == 32 || (unit == 1 && (kGroup == 64 || (begin + c) % 2 == 1))) {
          end_group(sums, part, output_pair(chunk.entries[kGroup == 32 ? unit : 0], f16_tables), inputs);
          inputs = {};
        }
      }
    }
  }
}

// Fast because all weights of a block are on their way at once.
template <TileCode kCode, unsigned kGroup, bool kHalf, unsigned kAhead>
__global__ void __launch_bounds__(kThreads) expert_kernel(const __grid_constant__ TiledProductCudaArgs args) {
  // In this order, so that the next kernel may read the routing before this one ends.
  wait_for_earlier();
  let_next_start();
  extern __shared__ uint4 expert_shared[];
  if (blockIdx.y >= args.experts.used_tiles()) return;
  const ExpertTile tile = args.experts.tile(blockIdx.y);
  const bool gate = args.gate != ProductGate::kNone;
  const TiledWeight w = args.experts.first[tile.expert];
  const TiledWeight second = gate ? args.experts.second[tile.expert] : w;
  const unsigned lane = threadIdx.x % 32;
  const unsigned slice = threadIdx.x / 32;
  const unsigned per_slice = slice_chunks(w);
  const unsigned begin = min(slice * per_slice, w.chunks);
  const unsigned count = min(begin + per_slice, w.chunks) - begin;
  const unsigned all = gate ? 2 * count : count;
  using Slots = ChunkSlots<kCode, kGroup, kHalf, kAhead, kThreads>;
  using Source = ChunkSource<kCode, kGroup, kHalf>;
  Slots slots(expert_shared);
  const Source sources[2] = {Source(w, blockIdx.x, begin), Source(second, blockIdx.x, begin)};
  const auto ask = [&](unsigned at) {
    if (at < all) slots.ask(at < count ? sources[0] : sources[1], at % kAhead, at < count ? at : at - count);
    commit_copies();
  };
  for (unsigned at = 0; at < kAhead; ++at) ask(at);
  const LaneRows<kHalf> rows(args.x, args.experts, tile);

  // Sums of slices: [product of a gate][slice][row][16 outputs].
  float* slices = reinterpret_cast<float*>(expert_shared + Slots::kBytes / sizeof(uint4));
  constexpr unsigned kElements = kRows * 16;
  for (unsigned pass = 0; pass < (gate ? 2U : 1U); ++pass) {
    float sums[4] = {};
    slice_product<kCode, kGroup, kHalf>(sums, rows, begin, count, w.f16_tables, [&](unsigned c) {
      const unsigned at = pass * count + c;
      const auto chunk = slots.take(at % kAhead);
      ask(at + kAhead);
      return chunk;
    });
    float* mine = slices + (pass * kSlices + slice) * kElements;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) mine[(lane % 4 * 2 + i % 2) * 16 + lane / 4 + i / 2 * 8] = sums[i];
  }
  wait_copies<0>();
  __syncthreads();
  const unsigned element = threadIdx.x;
  const unsigned row = element / 16;
  const unsigned n = blockIdx.x * 16 + element % 16;
  if (row >= tile.count || n >= w.rows) return;
  const unsigned used = used_slices(w);
  const float factor = args.x.factors[args.experts.source_of(tile.first + row)];
  const auto total = [&](unsigned pass, const TiledWeight& weight) {
    float sum = 0;
    for (unsigned i = 0; i < used; ++i) sum += slices[(pass * kSlices + i) * kElements + element];
    return sum * (kHalf ? factor * weight.factors[n] : factor);
  };
  float value = total(0, w);
  if (gate) value = gated(args.gate, value, total(1, second));
  args.out[0][(std::size_t{tile.first} + row) * w.rows + n] = value;
}

template <TileCode kCode>
constexpr unsigned kExpertAhead = kCode == TileCode::kInt4   ? 8
                                  : kCode == TileCode::kInt8 ? 4
                                                             : 2;

}  // namespace

void expert_product(CudaQueue& queue, const TiledProductCudaArgs& args) {
  const std::size_t sums = (args.gate == ProductGate::kNone ? 1 : 2) * kSlices * kRows * 16 * sizeof(float);
  for_kind(args.w[0], [&]<TileCode kCode, unsigned kGroup, bool kHalf>() {
    constexpr unsigned kAhead = kExpertAhead<kCode>;
    queue.launch(expert_kernel<kCode, kGroup, kHalf, kAhead>, {args.w[0].tiles(), args.experts.most},
                 {kThreads, ChunkSlots<kCode, kGroup, kHalf, kAhead, kThreads>::kBytes + sums}, args);
  });
}

}  // namespace lanner::kernels
