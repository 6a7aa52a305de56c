// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/linear/pair_ring.cuh"
#include "kernels/linear/row_input.cuh"
#include "kernels/linear/tile_kernels.h"
#include "kernels/linear/tile_product.cuh"

namespace lanner::kernels {
namespace {

// A block is two teams, which share the inputs; a team computes one product of 16 outputs at a time, a warp
// of it one slice. Of a gate's two products each team has one.
constexpr unsigned kTeamThreads = 32 * kSlices;
constexpr unsigned kTeams = 2;
constexpr unsigned kThreads = kTeams * kTeamThreads;
static_assert(kThreads == kRowThreads);
constexpr std::size_t kMostSharedBytes = std::size_t{225} << 10;

/// Products of a team whose sums stay in shared memory until the block adds up all of their slices.
__host__ __device__ constexpr unsigned batch_steps(unsigned rows) { return unsigned(kStreamRows) / rows; }

/// True where two products meet in a gate.
__host__ __device__ inline bool has_pair(const TiledProductCudaArgs& args) {
  return args.gate != ProductGate::kNone && args.up == nullptr;
}

/// Which 16 outputs of which product come `at`-th.
struct TilePlace {
  unsigned product;
  unsigned tile;
};

__device__ TilePlace tile_place(const TiledProductCudaArgs& args, unsigned at) {
  if (has_pair(args)) return {0, at};
  unsigned product = 0;
  while (product + 1 < args.count && at >= args.w[product].tiles()) at -= args.w[product++].tiles();
  return {product, at};
}

/// The slices of a warp, one after the other.
template <TileCode kCode, unsigned kGroup>
struct Walk {
  const TiledProductCudaArgs& args;
  unsigned tiles;
  unsigned begin;
  unsigned team;
  unsigned at;

  __device__ PairSource<kCode, kGroup> next() {
    if (at >= tiles) return {};
    const bool gate = has_pair(args);
    const TilePlace place = tile_place(args, at);
    at += (gate ? 1 : kTeams) * gridDim.x;
    return {args.w[gate ? team : place.product], place.tile, begin};
  }
};

/// A block's copy of the split rows; `rows` side by side, sums (of two parts only) padded to an even number.
struct Inputs {
  uint4* high;
  uint4* low;
  float* sums;
  unsigned width;      ///< vectors of a unit
  unsigned even_rows;  ///< sums of a unit

  __host__ __device__ static std::size_t bytes(unsigned units, unsigned rows, unsigned parts) {
    return std::size_t{units} * (rows * parts * 64 + (parts == 2 ? (rows + 1) / 2 * 8 : 0));
  }

  __device__ Inputs(uint4* memory, unsigned units, unsigned rows, bool two_parts)
      : high(memory),
        low(two_parts ? memory + std::size_t{units} * rows * 4 : nullptr),
        sums(reinterpret_cast<float*>(memory + std::size_t{units} * rows * 4 * (two_parts ? 2 : 1))),
        width(rows * 4),
        even_rows((rows + 1) / 2 * 2) {}

  /// Waits for earlier kernels.
  template <unsigned kHeld, unsigned kGains, RowKind kKind = RowKind::kPlain>
  __device__ void form(const RowInputCuda& from, unsigned units, unsigned rows, RowShared& shared,
                       float* factors) {
    const HeldGains<kThreads, kGains> gains(from);
    const SumGains<kKind> sum_gains(from.sum, from.columns);
    wait_for_earlier();
    for (unsigned row = 0; row < rows; ++row) {
      const auto keep = [&](unsigned octet, const OctetParts& parts) {
        const unsigned at = octet / 4 * width + row * 4 + octet % 4;
        high[at] = parts.high;
        if (low != nullptr) low[at] = parts.low;
        if (low != nullptr && octet % 4 == 0) sums[octet / 4 * even_rows + row] = parts.unit_sum;
      };
      const auto values = row_values<kKind>(from, row, sum_gains, shared, blockIdx.x == 0);
      const float factor =
          prepare_row<kThreads, kHeld>(from, gains, values, units, low != nullptr, shared.both, keep);
      if (threadIdx.x == 0) factors[row] = factor;
    }
  }

  __device__ void copy(const SplitRows& x, unsigned units, unsigned rows, float* factors) {
    wait_for_earlier();
    for (unsigned i = threadIdx.x; i < units * width; i += kThreads) {
      const unsigned from = i / width * 32 + i % width;
      high[i] = __ldcg(static_cast<const uint4*>(x.high) + from);
      if (low != nullptr) low[i] = __ldcg(static_cast<const uint4*>(x.low) + from);
    }
    for (unsigned i = threadIdx.x; low != nullptr && i < units * rows; i += kThreads)
      sums[i / rows * even_rows + i % rows] = __ldcg(x.sums + i / rows * 8 + i % rows);
    if (threadIdx.x < rows) factors[threadIdx.x] = x.factors[threadIdx.x];
  }
};

/// One slice of 16 outputs, which comes out of `ring`.
template <TileCode kCode, unsigned kGroup, bool kHalf, unsigned kPairs, typename Next>
__device__ void slice_product(float (&sums)[4], PairRing<kCode, kGroup, kHalf, kPairs>& ring, Next&& next,
                              const Inputs& x, unsigned begin, unsigned rows, bool f16_tables) {
  const unsigned lane = threadIdx.x % 32;
  // Lanes beyond the rows repeat the last one: what they compute is not kept.
  const unsigned place = min(lane / 4, rows - 1) * 4 + lane % 4;
  const uint4* high = x.high + begin * 2 * x.width + place;
  const uint4* low = x.low + begin * 2 * x.width + place;
  const float* unit_sums = x.sums + begin * 2 * x.even_rows + min(lane % 4 * 2, x.even_rows - 2);
  float part[4] = {};
  float2 inputs = {};
  bool second = false;  // of a group of 128
  ring.walk(next, [&](const Chunk<kCode, kGroup, kHalf>& chunk) {
#pragma unroll
    for (unsigned unit = 0; unit < 2; ++unit) {
      const uint4 h = high[unit * x.width];
      if constexpr (kHalf) {
        multiply_unit_half(
            sums, unit_elements<kCode>(chunk.codes, unit, chunk.entries[kGroup == 32 ? unit : 0]), h);
      } else {
        multiply_unit(part, unit_fragments<kCode>(chunk.codes, unit), h, low[unit * x.width]);
        inputs = add2(inputs, *reinterpret_cast<const float2*>(unit_sums + unit * x.even_rows));
        if (kGroup == 32 || (unit == 1 && (kGroup == 64 || second))) {
          end_group(sums, part, output_pair(chunk.entries[kGroup == 32 ? unit : 0], f16_tables), inputs);
          inputs = {};
        }
      }
    }
    second = !second;
    high += 2 * x.width;
    if constexpr (!kHalf) {
      low += 2 * x.width;
      unit_sums += 2 * x.even_rows;
    }
  });
}

/// The output that a thread adds up behind a batch.
struct BatchOutput {
  unsigned product = 0;
  unsigned n = 0;      ///< which of the product's outputs
  std::size_t to = 0;  ///< its place in out [rows, outputs]
  bool mine = false;

  /// `at`: place of the 16 outputs; element: which of rows * 16.
  __device__ BatchOutput(const TiledProductCudaArgs& args, unsigned tiles, unsigned at, unsigned element) {
    if (at >= tiles) return;
    const TilePlace place = tile_place(args, at);
    const TiledWeight& w = args.w[place.product];
    product = place.product;
    n = place.tile * 16 + element % 16;
    to = std::size_t{element / 16} * w.rows + n;
    mine = n < w.rows;
  }
};

/// Factors of an output's weights; may be asked for before wait_for_earlier().
struct OutputFactors {
  float own = 1;
  float up = 1;  ///< of a gate's second product

  __device__ OutputFactors(const TiledProductCudaArgs& args, const BatchOutput& output) {
    if (!output.mine || !args.w[0].half) return;
    own = args.w[output.product].factors[output.n];
    if (has_pair(args)) up = args.w[1].factors[output.n];
  }
};

// Fast because the weights of a warp flow through its ring without a pause, from before the kernel ahead has
// ended, because the inputs are normed and split where they are used, and because warps wait for each other
// once in a batch. Two blocks do not fit a multiprocessor, on purpose: two of one launch would meet on some.
template <TileCode kCode, unsigned kGroup, bool kHalf, unsigned kPairs>
__global__ void __launch_bounds__(kThreads, 1)
    stream_kernel(const __grid_constant__ TiledProductCudaArgs args) {
  let_next_start();
  extern __shared__ uint4 stream_shared[];
  __shared__ RowShared reduced;
  __shared__ float factors[kStreamRows];
  const unsigned lane = threadIdx.x % 32;
  const unsigned team = threadIdx.x / kTeamThreads;
  const unsigned slice = threadIdx.x / 32 % kSlices;
  const bool gate = has_pair(args);
  const TiledWeight& shape = args.w[0];
  unsigned tiles = shape.tiles();
  if (!gate)
    for (unsigned i = 1; i < args.count; ++i) tiles += args.w[i].tiles();
  const unsigned per_slice = slice_chunks(shape);
  const unsigned begin = min(slice * per_slice, shape.chunks);
  const unsigned count = min(begin + per_slice, shape.chunks) - begin;
  using Ring = PairRing<kCode, kGroup, kHalf, kPairs>;
  Walk<kCode, kGroup> walk{args, tiles, begin, team, blockIdx.x + (gate ? 0 : team * gridDim.x)};
  const auto next = [&] { return walk.next(); };
  Ring ring(stream_shared, count, next);

  const unsigned rows = args.rows;
  const unsigned outputs = rows * 16;
  const unsigned batch = batch_steps(rows);
  const unsigned products = gate ? 2 : 1;
  const unsigned places = batch * kTeams / products;
  const unsigned place = threadIdx.x / outputs;
  const unsigned element = threadIdx.x % outputs;
  const auto output_of = [&](unsigned first) {
    return BatchOutput(args, tiles, place < places ? first + place * gridDim.x : tiles, element);
  };
  OutputFactors ahead(args, output_of(blockIdx.x));

  const unsigned units = shape.chunks * 2;
  uint4* behind = stream_shared + kThreads / 32 * Ring::kWarpBytes / sizeof(uint4);
  Inputs inputs(behind, units, rows, !kHalf);
  if (args.input.x == nullptr)
    inputs.copy(args.x, units, rows, factors);
  else if (args.input.sum.y != nullptr)
    inputs.form<kSumOctets, kSumOctets, RowKind::kSum>(args.input, units, rows, reduced, factors);
  else if (args.input.norm)
    inputs.form<2, 2>(args.input, units, rows, reduced, factors);
  else
    inputs.form<5, 0>(args.input, units, rows, reduced, factors);
  __syncthreads();

  // Sums of slices: [parity of the batch][step][team][slice][rows][16 outputs]
  float* slices =
      reinterpret_cast<float*>(behind) + Inputs::bytes(units, rows, shape.parts()) / sizeof(float);
  unsigned parity = 0;
  for (unsigned first = blockIdx.x; first < tiles; first += places * gridDim.x) {
    // Asked for before they are needed.
    const OutputFactors now = ahead;
    ahead = OutputFactors(args, output_of(first + places * gridDim.x));
    float residual = -0.0F;  // adds nothing to any number
    float other = 0;
    const BatchOutput output = output_of(first);
    if (output.mine) {
      const float* residuals = args.residual[output.product];
      if (residuals != nullptr) residual = __ldcg(residuals + output.to);
      if (args.up != nullptr) other = __ldcg(args.up + output.to);
    }
    float* mine = slices + parity * batch * kTeams * kSlices * outputs;
    for (unsigned step = 0; step < batch; ++step) {
      if (first + (gate ? step : step * kTeams + team) * gridDim.x >= tiles) break;
      float sums[4] = {};
      slice_product(sums, ring, next, inputs, begin, rows, shape.f16_tables);
      float* sum_of = mine + ((step * kTeams + team) * kSlices + slice) * outputs;
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        const unsigned row = lane % 4 * 2 + i % 2;
        if (row < rows) sum_of[row * 16 + lane / 4 + i / 2 * 8] = sums[i];
      }
    }
    __syncthreads();
    if (output.mine) {
      const float* sum_of = mine + place * products * kSlices * outputs + element;
      // Slices that no input belongs to are zeros.
      float value = 0;
#pragma unroll
      for (unsigned i = 0; i < kSlices; ++i) value += sum_of[i * outputs];
      value *= factors[element / 16] * now.own;
      if (gate) {
        float up = 0;
#pragma unroll
        for (unsigned i = 0; i < kSlices; ++i) up += sum_of[(kSlices + i) * outputs];
        value = gated(args.gate, value, up * (factors[element / 16] * now.up));
      } else if (args.up != nullptr) {
        value = gated(args.gate, value, other);
      }
      args.out[output.product][output.to] = residual + value;
    }
    parity ^= 1;
  }
  wait_copies<0>();
}

/// Shared memory of a block.
template <typename Ring>
std::size_t block_bytes(const TiledProductCudaArgs& args) {
  const std::size_t sums = std::size_t{2} * batch_steps(args.rows) * kTeams * kSlices * args.rows * 16;
  return kThreads / 32 * Ring::kWarpBytes +
         Inputs::bytes(args.w[0].chunks * 2, args.rows, args.w[0].parts()) + sums * sizeof(float);
}

/// Blocks of a launch. Where each team has one product at most, both of a block get one: it takes no longer
/// with few rows, and on the multiprocessors that are left over blocks of the next kernel ask for weights.
std::uint32_t blocks_of(const TiledProductCudaArgs& args, std::uint32_t tiles,
                        std::uint32_t multiprocessors) {
  const bool one_each = args.rows <= kFormedRows && !has_pair(args) && tiles > multiprocessors &&
                        tiles <= kTeams * multiprocessors;
  return one_each ? (tiles + kTeams - 1) / kTeams : std::min(tiles, multiprocessors);
}

/// Pairs of chunks of a warp on their way.
template <TileCode kCode>
constexpr unsigned kRingPairs = kCode == TileCode::kInt4 ? 4 : 2;

}  // namespace

bool can_stream(const TiledProductCudaArgs& args) {
  if (args.experts.most > 0 || args.rows > kStreamRows) return false;
  return for_kind(args.w[0], [&]<TileCode kCode, unsigned kGroup, bool kHalf>() {
    return block_bytes<PairRing<kCode, kGroup, kHalf, kRingPairs<kCode>>>(args) <= kMostSharedBytes;
  });
}

void stream_product(CudaQueue& queue, const TiledProductCudaArgs& args) {
  const bool gate = has_pair(args);
  std::uint32_t tiles = 0;
  for (unsigned i = 0; i < (gate ? 1 : args.count); ++i) tiles += args.w[i].tiles();
  const Grid grid = {blocks_of(args, tiles, std::uint32_t(queue.multiprocessors()))};
  for_kind(args.w[0], [&]<TileCode kCode, unsigned kGroup, bool kHalf>() {
    constexpr unsigned kPairs = kRingPairs<kCode>;
    queue.launch(stream_kernel<kCode, kGroup, kHalf, kPairs>, grid,
                 {kThreads, block_bytes<PairRing<kCode, kGroup, kHalf, kPairs>>(args)}, args);
  });
}

}  // namespace lanner::kernels
