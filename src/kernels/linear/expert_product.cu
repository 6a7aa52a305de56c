// SPDX-License-Identifier: MIT
#include "kernels/linear/chunk_slots.cuh"
#include "kernels/linear/row_input.cuh"
#include "kernels/linear/tile_kernels.h"
#include "kernels/linear/tile_product.cuh"
#include "kernels/moe/choose_experts.cuh"

namespace lanner::kernels {
namespace {

// A warp per slice.
constexpr unsigned kThreads = 32 * kSlices;
constexpr unsigned kRows = kExpertTileRows;
static_assert(kRows == 8, "columns of a matrix instruction");
static_assert(kThreads >= kMostChoosable);

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

/// One row that a block split, in shared memory: [units, 4] high, low and [units] sums.
struct OwnRow {
  uint4* high;
  uint4* low;
  float* sums;

  __device__ OwnRow(uint4* memory, unsigned units)
      : high(memory), low(memory + units * 4), sums(reinterpret_cast<float*>(memory + units * 8)) {}

  /// Its factor. In every thread; a barrier must follow.
  template <unsigned kGains>
  __device__ float form(const RowInputCuda& in, const HeldGains<kThreads, kGains>& gains, unsigned row,
                        unsigned units, bool two_parts, RowShared& shared) const {
    const auto keep = [&](unsigned octet, const OctetParts& parts) {
      high[octet] = parts.high;
      if (!two_parts) return;
      low[octet] = parts.low;
      if (octet % 4 == 0) sums[octet / 4] = parts.unit_sum;
    };
    const RowValues<RowKind::kPlain> values{in, std::size_t{row} * in.columns};
    return prepare_row<kThreads, 2>(in, gains, values, units, two_parts, shared.both, keep);
  }

  __device__ uint4 high_of(unsigned unit) const { return high[unit * 4 + threadIdx.x % 4]; }
  __device__ uint4 low_of(unsigned unit) const { return low[unit * 4 + threadIdx.x % 4]; }
  __device__ float2 sums_of(unsigned unit) const { return {sums[unit], sums[unit]}; }
};

/// Where the weights of an expert lie.
struct ExpertPlaces {
  const void* codes;
  const void* tables;
  const float* factors;

  __device__ static ExpertPlaces of(const TiledWeight& w) { return {w.codes, w.tables, w.factors}; }
  __device__ TiledWeight in(TiledWeight shape) const {
    shape.codes = codes;
    shape.tables = tables;
    shape.factors = factors;
    return shape;
  }
};

/// One slice of 16 outputs of one product: chunks [begin, begin + count), which are `asked`-th and so on of
/// those on their way.
template <TileCode kCode, unsigned kGroup, bool kHalf, typename Rows, typename Take>
__device__ void slice_product(float (&sums)[4], const Rows& rows, unsigned begin, unsigned count,
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

/// The weights of a block on their way, its products and what becomes of them. form() is called once the
/// first weights were asked for and returns what high_of() and so on are asked of; factor(row) of a row.
template <TileCode kCode, unsigned kGroup, bool kHalf, unsigned kAhead, typename Form>
__device__ void run_tile(const TiledProductCudaArgs& args, const ExpertTile& tile, const TiledWeight& w,
                         const TiledWeight& second, uint4* memory, Form&& form) {
  const bool gate = args.gate != ProductGate::kNone;
  const unsigned lane = threadIdx.x % 32;
  const unsigned slice = threadIdx.x / 32;
  const unsigned per_slice = slice_chunks(w);
  const unsigned begin = min(slice * per_slice, w.chunks);
  const unsigned count = min(begin + per_slice, w.chunks) - begin;
  const unsigned all = gate ? 2 * count : count;
  using Slots = ChunkSlots<kCode, kGroup, kHalf, kAhead, kThreads>;
  using Source = ChunkSource<kCode, kGroup, kHalf>;
  Slots slots(memory);
  const Source sources[2] = {Source(w, blockIdx.x, begin), Source(second, blockIdx.x, begin)};
  const auto ask = [&](unsigned at) {
    if (at < all) slots.ask(at < count ? sources[0] : sources[1], at % kAhead, at < count ? at : at - count);
    commit_copies();
  };
  for (unsigned at = 0; at < kAhead; ++at) ask(at);
  const auto formed = form();

  // Sums of slices: [product of a gate][slice][row][16 outputs].
  float* slices = reinterpret_cast<float*>(memory + Slots::kBytes / sizeof(uint4));
  constexpr unsigned kElements = kRows * 16;
  for (unsigned pass = 0; pass < (gate ? 2U : 1U); ++pass) {
    float sums[4] = {};
    slice_product<kCode, kGroup, kHalf>(sums, formed.rows, begin, count, w.f16_tables, [&](unsigned c) {
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
  const float factor = formed.factor(tile.first + row);
  const auto total = [&](unsigned pass, const TiledWeight& weight) {
    float sum = 0;
    for (unsigned i = 0; i < used; ++i) sum += slices[(pass * kSlices + i) * kElements + element];
    return sum * (kHalf ? factor * weight.factors[n] : factor);
  };
  float value = total(0, w);
  if (gate) value = gated(args.gate, value, total(1, second));
  args.out[0][(std::size_t{tile.first} + row) * w.rows + n] = value;
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
  const TiledWeight w = args.experts.first[tile.expert];
  const TiledWeight second = args.gate != ProductGate::kNone ? args.experts.second[tile.expert] : w;
  struct Formed {
    LaneRows<kHalf> rows;
    const TiledProductCudaArgs& args;
    __device__ float factor(unsigned row) const { return args.x.factors[args.experts.source_of(row)]; }
  };
  run_tile<kCode, kGroup, kHalf, kAhead>(args, tile, w, second, expert_shared, [&] {
    return Formed{LaneRows<kHalf>(args.x, args.experts, tile), args};
  });
}

// The same of a row that chooses its experts: fast because every block chooses for itself, which takes less
// than a kernel, and norms and splits the row while its weights are on their way. Of 64 registers a thread,
// so that two blocks leave room on a multiprocessor for those of join_kernel().
template <TileCode kCode, unsigned kGroup, bool kHalf, unsigned kAhead>
__global__ void __launch_bounds__(kThreads, 4)
    choosing_kernel(const __grid_constant__ TiledProductCudaArgs args, unsigned row_place) {
  extern __shared__ uint4 expert_shared[];
  __shared__ ExpertPlaces places[2];
  __shared__ unsigned chosen;
  __shared__ RowShared reduced;
  const ExpertLogitsCuda& choice = args.experts.choice;
  const unsigned row = blockIdx.y / choice.per_row();
  const unsigned slot = blockIdx.y % choice.per_row();
  const bool gate = args.gate != ProductGate::kNone;
  // A thread knows where one expert lies, so that the choice of it need not wait for that.
  const bool shared_one = slot == choice.k;
  const unsigned expert = shared_one ? choice.n_experts : min(threadIdx.x, choice.n_experts - 1);
  const ExpertPlaces first = ExpertPlaces::of(args.experts.first[expert]);
  const ExpertPlaces second = gate ? ExpertPlaces::of(args.experts.second[expert]) : first;
  const HeldGains<kThreads, 1> gains(args.input);
  // In this order, so that the next kernel may read the logits before this one ends.
  wait_for_earlier();
  let_next_start();
  if (threadIdx.x < 32) {
    if (shared_one) {
      if (threadIdx.x == 0) chosen = 0;
    } else {
      const ChosenExpert mine(choice.logits + std::size_t{row} * choice.n_experts, choice.n_experts,
                              choice.k);
      if (mine.any && mine.place == slot) chosen = mine.id;
    }
  }
  __syncthreads();
  if (threadIdx.x == chosen) {
    places[0] = first;
    places[1] = second;
  }
  __syncthreads();
  const TiledWeight& shape = args.w[0];
  struct Formed {
    OwnRow rows;
    float own_factor;
    __device__ float factor(unsigned /*row*/) const { return own_factor; }
  };
  const unsigned units = shape.chunks * 2;
  uint4* own = expert_shared + row_place / sizeof(uint4);
  run_tile<kCode, kGroup, kHalf, kAhead>(args, {0, blockIdx.y, 1}, places[0].in(shape),
                                         places[1].in(gate ? args.w[1] : shape), expert_shared, [&] {
                                           const OwnRow rows(own, units);
                                           const float factor =
                                               rows.form(args.input, gains, row, units, !kHalf, reduced);
                                           __syncthreads();
                                           return Formed{rows, factor};
                                         });
}

template <TileCode kCode>
constexpr unsigned kExpertAhead = kCode == TileCode::kInt4   ? 8
                                  : kCode == TileCode::kInt8 ? 4
                                                             : 2;

}  // namespace

void expert_product(CudaQueue& queue, const TiledProductCudaArgs& args) {
  const std::size_t sums = (args.gate == ProductGate::kNone ? 1 : 2) * kSlices * kRows * 16 * sizeof(float);
  const Grid grid = {args.w[0].tiles(), args.experts.most};
  for_kind(args.w[0], [&]<TileCode kCode, unsigned kGroup, bool kHalf>() {
    constexpr unsigned kAhead = kExpertAhead<kCode>;
    const std::size_t bytes = ChunkSlots<kCode, kGroup, kHalf, kAhead, kThreads>::kBytes + sums;
    if (args.experts.choice.logits == nullptr)
      return queue.launch(expert_kernel<kCode, kGroup, kHalf, kAhead>, grid, {kThreads, bytes}, args);
    const std::size_t row = split_row_bytes(args.w[0].chunks * 2, args.w[0].parts());
    queue.launch(choosing_kernel<kCode, kGroup, kHalf, kAhead>, grid, {kThreads, bytes + row}, args,
                 std::uint32_t(bytes));
  });
}

}  // namespace lanner::kernels
