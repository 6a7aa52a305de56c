// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/linear/chunk_slots.cuh"
#include "kernels/linear/row_input.cuh"
#include "kernels/linear/tile_kernels.h"
#include "kernels/linear/tile_product.cuh"
#include "kernels/moe/choose_experts.cuh"

namespace lanner::kernels {
namespace {

constexpr unsigned kMostWarps = 16;
constexpr unsigned kHeld = 4;  // octets of a row that a lane keeps: rows of 1024 are read once

/// A warp's copy of one split row.
struct WarpRow {
  uint4* high;
  uint4* low;
  float* sums;

  __device__ WarpRow(std::uint8_t* memory, unsigned units, bool two_parts)
      : high(reinterpret_cast<uint4*>(memory)),
        low(high + (two_parts ? units * 4 : 0)),
        sums(reinterpret_cast<float*>(high + units * 8)) {}
};

/// Splits one row by one warp, as prepare_row() does by a block; returns its factor.
__device__ float split_row(const WarpRow& to, const float* x, unsigned columns, unsigned units,
                           bool two_parts) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned filled = columns / 8;
  Octet held[kHeld] = {};
  float largest = 0;
  const auto load = [&](unsigned octet) { return octet < filled ? Octet::load(x + octet * 8) : Octet{}; };
#pragma unroll
  for (unsigned j = 0; j < kHeld; ++j) held[j] = load(lane + j * 32);
  const auto take = [&](const Octet& o) {
#pragma unroll
    for (unsigned i = 0; i < 8; ++i) largest = fmaxf(largest, fabsf(o.v[i]));
  };
#pragma unroll
  for (unsigned j = 0; j < kHeld; ++j) take(held[j]);
  for (unsigned octet = lane + kHeld * 32; octet < filled; octet += 32) take(load(octet));
  const int shift = row_shift(warp_max(largest));
  const float factor = power_of_two(shift);
  // Whole warps take part, units being a multiple of 4 and more a matter of storing.
  const auto finish = [&](const Octet& o, unsigned octet) {
    const OctetParts parts = split_octet(o, factor, two_parts);
    if (octet >= units * 4) return;
    to.high[octet] = parts.high;
    if (!two_parts) return;
    to.low[octet] = parts.low;
    if (octet % 4 == 0) to.sums[octet / 4] = parts.unit_sum;
  };
#pragma unroll
  for (unsigned j = 0; j < kHeld; ++j) finish(held[j], lane + j * 32);
  for (unsigned first = kHeld * 32; first < units * 4; first += 32) finish(load(first + lane), first + lane);
  __syncwarp();
  return power_of_two(-shift);
}

/// 16 outputs of one row by one warp, slice after slice; lane 4 g holds those of g and g + 8.
template <TileCode kCode, unsigned kGroup, bool kHalf, typename Take>
__device__ float2 row_product(const TiledWeight& w, const WarpRow& row, Take&& take) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned per_slice = slice_chunks(w);
  float totals[4] = {};
  float sums[4] = {};
  float part[4] = {};
  float2 inputs = {};
  unsigned in_slice = 0;
  for (unsigned c = 0; c < w.chunks; ++c) {
    const Chunk<kCode, kGroup, kHalf> chunk = take(c);
#pragma unroll
    for (unsigned unit = 0; unit < 2; ++unit) {
      const unsigned at = c * 2 + unit;
      const uint4 high = row.high[at * 4 + lane % 4];
      if constexpr (kHalf) {
        multiply_unit_half(
            sums, unit_elements<kCode>(chunk.codes, unit, chunk.entries[kGroup == 32 ? unit : 0]), high);
      } else {
        multiply_unit(part, unit_fragments<kCode>(chunk.codes, unit), high, row.low[at * 4 + lane % 4]);
        inputs = add2(inputs, {row.sums[at], row.sums[at]});
        if (kGroup == 32 || (unit == 1 && (kGroup == 64 || c % 2 == 1))) {
          end_group(sums, part, output_pair(chunk.entries[kGroup == 32 ? unit : 0], w.f16_tables), inputs);
          inputs = {};
        }
      }
    }
    if (++in_slice < per_slice && c + 1 < w.chunks) continue;
    in_slice = 0;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      totals[i] += sums[i];
      sums[i] = 0;
    }
  }
  return {totals[0], totals[2]};
}

// Fast because the experts of a row are read at once, a warp each, and meet in the block.
template <TileCode kCode, unsigned kGroup, bool kHalf, unsigned kAhead>
__global__ void __launch_bounds__(32 * kMostWarps)
    join_kernel(const __grid_constant__ JoinExpertsCudaArgs args) {
  let_next_start();
  extern __shared__ uint4 join_shared[];
  __shared__ float results[kMostChosen][16];
  __shared__ unsigned experts[kMostChosen];
  __shared__ float weights[kMostChosen];
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const unsigned warps = blockDim.x / 32;
  const unsigned units = args.shape.chunks * 2;
  const std::size_t first = std::size_t{blockIdx.y} * args.per_row;
  // Slots of all warps, then their rows.
  using Slots = ChunkSlots<kCode, kGroup, kHalf, kAhead, 32>;
  Slots slots(join_shared + warp * (Slots::kBytes / sizeof(uint4)), lane);
  auto* memory = reinterpret_cast<std::uint8_t*>(join_shared) + warps * Slots::kBytes +
                 warp * split_row_bytes(units, args.shape.parts());
  const WarpRow row(memory, units, !kHalf);
  // The kernel ahead began when the routing or the logits were there, and this one after it.
  if (args.choice.logits != nullptr) {
    if (warp == 0)
      choose_experts(args.choice, blockIdx.y, [&](unsigned slot, unsigned expert, float weight) {
        experts[slot] = expert;
        weights[slot] = weight;
      });
  } else if (threadIdx.x < args.per_row) {
    experts[threadIdx.x] = unsigned(__ldcg(args.experts + first + threadIdx.x));
    weights[threadIdx.x] = __ldcg(args.weights + first + threadIdx.x);
  }
  __syncthreads();
  bool waited = false;
  for (unsigned slot = warp; slot < args.per_row; slot += warps) {
    const TiledWeight w = args.down[experts[slot]];
    const ChunkSource<kCode, kGroup, kHalf> from(w, blockIdx.x, 0);
    const auto ask = [&](unsigned c) {
      if (c < w.chunks) slots.ask(from, c % kAhead, c);
      commit_copies();
    };
    for (unsigned c = 0; c < kAhead; ++c) ask(c);
    if (!waited) wait_for_earlier();
    waited = true;
    const float factor =
        split_row(row, args.gated + (first + slot) * args.shape.columns, args.shape.columns, units, !kHalf);
    const float2 sums = row_product<kCode, kGroup, kHalf>(w, row, [&](unsigned c) {
      const auto chunk = slots.take(c % kAhead);
      ask(c + kAhead);
      return chunk;
    });
    wait_copies<0>();
    if (lane % 4 == 0) {
      const unsigned n = blockIdx.x * 16 + lane / 4;
      results[slot][lane / 4] = sums.x * (kHalf ? factor * w.factors[n] : factor);
      results[slot][lane / 4 + 8] = sums.y * (kHalf ? factor * w.factors[n + 8] : factor);
    }
    __syncwarp();
  }
  __syncthreads();
  const unsigned n = blockIdx.x * 16 + threadIdx.x;
  if (threadIdx.x >= 16 || n >= args.shape.rows) return;
  float sum = 0;
  for (unsigned slot = 0; slot < args.per_row; ++slot)
    sum = fmaf(weights[slot], results[slot][threadIdx.x], sum);
  const std::size_t at = std::size_t{blockIdx.y} * args.shape.rows + n;
  args.out[at] = args.residual == nullptr ? sum : args.residual[at] + sum;
}

template <TileCode kCode>
constexpr unsigned kJoinAhead = kCode == TileCode::kInt4   ? 12
                                : kCode == TileCode::kInt8 ? 6
                                                           : 3;

}  // namespace

void join_experts_cuda(CudaQueue& queue, const JoinExpertsCudaArgs& args) {
  const unsigned warps = std::min<unsigned>(args.per_row, kMostWarps);
  const std::size_t rows = warps * split_row_bytes(args.shape.chunks * 2, args.shape.parts());
  for_kind(args.shape, [&]<TileCode kCode, unsigned kGroup, bool kHalf>() {
    constexpr unsigned kAhead = kJoinAhead<kCode>;
    const std::size_t slots = warps * ChunkSlots<kCode, kGroup, kHalf, kAhead, 32>::kBytes;
    queue.launch(join_kernel<kCode, kGroup, kHalf, kAhead>, {args.shape.tiles(), blocks_for(args.rows, 1)},
                 {32 * warps, slots + rows}, args);
  });
}

}  // namespace lanner::kernels
