// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/linear/chunk_slots.cuh"
#include "kernels/linear/row_input.cuh"
#include "kernels/linear/tile_kernels.h"
#include "kernels/linear/tile_product.cuh"

namespace lanner::kernels {
namespace {

// A block is two teams, which share the inputs; a team takes one tile of 16 outputs at a time, a warp of it
// one slice.
constexpr unsigned kTeamThreads = 32 * kSlices;
constexpr unsigned kTeams = 2;
constexpr unsigned kThreads = kTeams * kTeamThreads;
static_assert(kThreads == kRowThreads);
constexpr std::size_t kMostSharedBytes = std::size_t{225} << 10;

__device__ void wait_for_team(unsigned team) {
  // Constant names: with a variable one a block would claim all barriers.
  if (team == 0)
    asm volatile("bar.sync 1, %0;" ::"n"(kTeamThreads) : "memory");
  else
    asm volatile("bar.sync 2, %0;" ::"n"(kTeamThreads) : "memory");
}

/// Which 16 outputs of which product come `at`-th.
struct TilePlace {
  unsigned product;
  unsigned tile;
};

__device__ TilePlace tile_place(const TiledProductCudaArgs& args, unsigned at) {
  if (args.gate != ProductGate::kNone) return {0, at};
  unsigned product = 0;
  while (product + 1 < args.count && at >= args.w[product].tiles()) at -= args.w[product++].tiles();
  return {product, at};
}

/// The tiles and products of a team, one after the other.
template <TileCode kCode, unsigned kGroup, bool kHalf>
struct Walk {
  const TiledProductCudaArgs& args;
  unsigned tiles;
  unsigned begin;
  unsigned at;
  unsigned pass = 0;

  __device__ bool ended() const { return at >= tiles; }
  __device__ void advance() {
    if (args.gate != ProductGate::kNone && pass == 0) {
      pass = 1;
      return;
    }
    pass = 0;
    at += kTeams * gridDim.x;
  }
  __device__ ChunkSource<kCode, kGroup, kHalf> source() const {
    if (ended()) return {};
    const TilePlace place = tile_place(args, at);
    return {args.w[args.gate == ProductGate::kNone ? place.product : pass], place.tile, begin};
  }
};

/// A block's copy of the split rows; `rows` side by side, sums padded to an even number.
struct Inputs {
  uint4* high;
  uint4* low;
  float* sums;
  unsigned width;      ///< vectors of a unit
  unsigned even_rows;  ///< sums of a unit

  __host__ __device__ static std::size_t bytes(unsigned units, unsigned rows, unsigned parts) {
    return std::size_t{units} * (rows * parts * 64 + (rows + 1) / 2 * 8);
  }

  __device__ Inputs(uint4* memory, unsigned units, unsigned rows, bool two_parts)
      : high(memory),
        low(two_parts ? memory + std::size_t{units} * rows * 4 : nullptr),
        sums(reinterpret_cast<float*>(memory + std::size_t{units} * rows * 4 * (two_parts ? 2 : 1))),
        width(rows * 4),
        even_rows((rows + 1) / 2 * 2) {}

  __device__ void form(const RowInputCuda& from, const HeldGains<kThreads>& gains, unsigned units,
                       unsigned rows, float2* shared, float* factors) {
    for (unsigned row = 0; row < rows; ++row) {
      const float factor = prepare_row(from, gains, row, units, low != nullptr, shared,
                                       [&](unsigned octet, const OctetParts& parts) {
                                         const unsigned at = octet / 4 * width + row * 4 + octet % 4;
                                         high[at] = parts.high;
                                         if (low != nullptr) low[at] = parts.low;
                                         if (octet % 4 == 0)
                                           sums[octet / 4 * even_rows + row] = parts.unit_sum;
                                       });
      if (threadIdx.x == 0) factors[row] = factor;
    }
  }

  __device__ void copy(const SplitRows& x, unsigned units, unsigned rows, float* factors) {
    for (unsigned i = threadIdx.x; i < units * width; i += kThreads) {
      const unsigned from = i / width * 32 + i % width;
      high[i] = __ldcg(static_cast<const uint4*>(x.high) + from);
      if (low != nullptr) low[i] = __ldcg(static_cast<const uint4*>(x.low) + from);
    }
    for (unsigned i = threadIdx.x; i < units * rows; i += kThreads)
      sums[i / rows * even_rows + i % rows] = __ldcg(x.sums + i / rows * 8 + i % rows);
    if (threadIdx.x < rows) factors[threadIdx.x] = x.factors[threadIdx.x];
  }
};

/// One slice of 16 outputs. The slice's first chunks are on their way to `ahead`, and afterwards those of
/// `next`.
template <TileCode kCode, unsigned kGroup, bool kHalf, unsigned kAhead>
__device__ void slice_product(float (&sums)[4], ChunkSlots<kCode, kGroup, kHalf, kAhead, kThreads>& ahead,
                              const ChunkSource<kCode, kGroup, kHalf>& from,
                              const ChunkSource<kCode, kGroup, kHalf>& next, const Inputs& x, unsigned begin,
                              unsigned count, unsigned rows, bool f16_tables) {
  const unsigned lane = threadIdx.x % 32;
  // Lanes beyond the rows repeat the last one: what they compute is not kept.
  const unsigned place = min(lane / 4, rows - 1) * 4 + lane % 4;
  const uint4* high = x.high + begin * 2 * x.width + place;
  const uint4* low = x.low + begin * 2 * x.width + place;
  const float* unit_sums = x.sums + begin * 2 * x.even_rows + min(lane % 4 * 2, x.even_rows - 2);
  float part[4] = {};
  float2 inputs = {};
  const auto use = [&](const Chunk<kCode, kGroup, kHalf>& chunk, unsigned c) {
#pragma unroll
    for (unsigned unit = 0; unit < 2; ++unit) {
      const uint4 h = high[unit * x.width];
      if constexpr (kHalf) {
        multiply_unit_half(
            sums, unit_elements<kCode>(chunk.codes, unit, chunk.entries[kGroup == 32 ? unit : 0]), h);
      } else {
        multiply_unit(part, unit_fragments<kCode>(chunk.codes, unit), h, low[unit * x.width]);
        inputs = add2(inputs, *reinterpret_cast<const float2*>(unit_sums + unit * x.even_rows));
        if (kGroup == 32 || (unit == 1 && (kGroup == 64 || (begin + c) % 2 == 1))) {
          end_group(sums, part, output_pair(chunk.entries[kGroup == 32 ? unit : 0], f16_tables), inputs);
          inputs = {};
        }
      }
    }
    high += 2 * x.width;
    if constexpr (!kHalf) {
      low += 2 * x.width;
      unit_sums += 2 * x.even_rows;
    }
  };
  ahead.walk(from, next, count, use);
}

// Fast because the weights of a warp flow through its ring without a pause, from before the kernel ahead has
// ended, and because the inputs are normed and split where they are used.
template <TileCode kCode, unsigned kGroup, bool kHalf, unsigned kAhead>
__global__ void __launch_bounds__(kThreads, 1)
    stream_kernel(const __grid_constant__ TiledProductCudaArgs args) {
  let_next_start();
  extern __shared__ uint4 stream_shared[];
  __shared__ float2 reduced[32];
  __shared__ float factors[kStreamRows];
  const unsigned lane = threadIdx.x % 32;
  const unsigned team = threadIdx.x / kTeamThreads;
  const unsigned slice = threadIdx.x / 32 % kSlices;
  const unsigned first = blockIdx.x + team * gridDim.x;
  const bool gate = args.gate != ProductGate::kNone;
  const TiledWeight& shape = args.w[0];
  unsigned tiles = shape.tiles();
  if (!gate)
    for (unsigned i = 1; i < args.count; ++i) tiles += args.w[i].tiles();
  const unsigned per_slice = slice_chunks(shape);
  const unsigned begin = min(slice * per_slice, shape.chunks);
  const unsigned count = min(begin + per_slice, shape.chunks) - begin;
  Walk<kCode, kGroup, kHalf> walk{args, tiles, begin, first};
  ChunkSource<kCode, kGroup, kHalf> from = walk.source();
  ChunkSlots<kCode, kGroup, kHalf, kAhead, kThreads> ahead(stream_shared);
  ahead.start(from, count);
  const HeldGains<kThreads> gains(args.input);
  wait_for_earlier();

  const unsigned rows = args.rows;
  const unsigned units = shape.chunks * 2;
  uint4* behind = stream_shared + ChunkSlots<kCode, kGroup, kHalf, kAhead, kThreads>::kBytes / sizeof(uint4);
  Inputs inputs(behind, units, rows, !kHalf);
  if (args.input.x != nullptr)
    inputs.form(args.input, gains, units, rows, reduced, factors);
  else
    inputs.copy(args.x, units, rows, factors);
  __syncthreads();

  // Sums of slices: [team][parity of the tile][product of a gate][slice][row][16 outputs]
  const unsigned slice_floats = inputs.even_rows * 16;
  float* slices = reinterpret_cast<float*>(behind) +
                  Inputs::bytes(units, rows, shape.parts()) / sizeof(float) +
                  team * (gate ? 4 : 2) * kSlices * slice_floats;
  const unsigned used = used_slices(shape);
  unsigned parity = 0;
  const unsigned element = threadIdx.x % kTeamThreads;
  const unsigned row = element / 16;
  for (unsigned at = first; at < tiles; at += kTeams * gridDim.x) {
    const TilePlace place = tile_place(args, at);
    const TiledWeight& w = args.w[place.product];
    const unsigned n = place.tile * 16 + element % 16;
    const bool mine_to_store = row < rows && n < w.rows;
    const std::size_t to = std::size_t{row} * w.rows + n;
    // Asked for before it is needed.
    const float* residuals = args.residual[place.product];
    float residual = 0;
    if (mine_to_store && residuals != nullptr) residual = __ldcg(residuals + to);
    float* mine = slices + parity * (gate ? 2 : 1) * kSlices * slice_floats;
    for (unsigned pass = 0; pass < (gate ? 2U : 1U); ++pass) {
      float sums[4] = {};
      walk.advance();
      const ChunkSource<kCode, kGroup, kHalf> next = walk.source();
      slice_product<kCode, kGroup, kHalf>(sums, ahead, from, next, inputs, begin, count, rows,
                                          shape.f16_tables);
      from = next;
      float* sum_of = mine + (pass * kSlices + slice) * slice_floats;
      if (lane % 4 * 2 < inputs.even_rows) {
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) sum_of[(lane % 4 * 2 + i % 2) * 16 + lane / 4 + i / 2 * 8] = sums[i];
      }
    }
    wait_for_team(team);
    if (mine_to_store) {
      float value = 0;
      for (unsigned i = 0; i < used; ++i) value += mine[i * slice_floats + element];
      value *= kHalf ? factors[row] * w.factors[n] : factors[row];
      if (gate) {
        float up = 0;
        for (unsigned i = 0; i < used; ++i) up += mine[(kSlices + i) * slice_floats + element];
        value = gated(args.gate, value, up * (kHalf ? factors[row] * args.w[1].factors[n] : factors[row]));
      }
      args.out[place.product][to] = residuals == nullptr ? value : residual + value;
    }
    parity ^= 1;
  }
  wait_copies<0>();
}

/// Bytes of a block beside its slots.
std::size_t input_bytes(const TiledProductCudaArgs& args) {
  const std::size_t slices = std::size_t{kTeams} * (args.gate == ProductGate::kNone ? 2 : 4) * kSlices *
                             ((args.rows + 1) / 2 * 2) * 16;
  return Inputs::bytes(args.w[0].chunks * 2, args.rows, args.w[0].parts()) + slices * sizeof(float);
}

/// f<ahead>() with a number that leaves little of a slice's last round unused.
template <TileCode kCode, bool kHalf, typename F>
void for_ahead(unsigned count, F&& f) {
  if constexpr (kCode == TileCode::kInt4 && kHalf) {
    const auto unused = [&](unsigned ahead) { return (ahead - count % ahead) % ahead * 16 / count; };
    if (unused(8) <= unused(6)) return f.template operator()<8>();
    return f.template operator()<6>();
  }
  f.template operator()<kCode == TileCode::kInt4 ? 6U : kCode == TileCode::kInt8 ? 4U : 2U>();
}

}  // namespace

bool can_stream(const TiledProductCudaArgs& args) {
  constexpr std::size_t kMostSlotBytes = ChunkSlots<TileCode::kInt4, 32, true, 8, kThreads>::kBytes;
  if (args.experts.most > 0 || args.rows > kStreamRows) return false;
  return input_bytes(args) + kMostSlotBytes <= kMostSharedBytes;
}

void stream_product(CudaQueue& queue, const TiledProductCudaArgs& args) {
  const bool gate = args.gate != ProductGate::kNone;
  std::uint32_t tiles = 0;
  for (unsigned i = 0; i < (gate ? 1 : args.count); ++i) tiles += args.w[i].tiles();
  const Grid grid = {std::min(tiles, std::uint32_t(queue.multiprocessors()))};
  for_kind(args.w[0], [&]<TileCode kCode, unsigned kGroup, bool kHalf>() {
    for_ahead<kCode, kHalf>(slice_chunks(args.w[0]), [&]<unsigned kAhead>() {
      const std::size_t shared =
          ChunkSlots<kCode, kGroup, kHalf, kAhead, kThreads>::kBytes + input_bytes(args);
      queue.launch(stream_kernel<kCode, kGroup, kHalf, kAhead>, grid, {kThreads, shared}, args);
    });
  });
}

}  // namespace lanner::kernels
