// SPDX-License-Identifier: MIT
// For .cu files: a block splits a row.
#pragma once

#include "kernels/linear/row_input.cuh"

namespace lanner::kernels {

/// Word p of lane q of four becomes word q of lane p.
__device__ inline uint4 turn_words(const uint4& w) {
  const unsigned mask = 0xfU << (threadIdx.x % 32 / 4 * 4);
  const bool odd = threadIdx.x % 2 == 1;
  const bool upper = threadIdx.x % 4 >= 2;
  const std::uint32_t a = __shfl_xor_sync(mask, odd ? w.x : w.y, 1);
  const std::uint32_t b = __shfl_xor_sync(mask, odd ? w.z : w.w, 1);
  const uint2 first = odd ? uint2{a, w.y} : uint2{w.x, a};
  const uint2 second = odd ? uint2{b, w.w} : uint2{w.z, b};
  const std::uint32_t c = __shfl_xor_sync(mask, upper ? first.x : second.x, 2);
  const std::uint32_t d = __shfl_xor_sync(mask, upper ? first.y : second.y, 2);
  return upper ? uint4{c, d, second.x, second.y} : uint4{first.x, first.y, c, d};
}

__device__ inline void store_octet(const SplitRows& to, unsigned row, unsigned octet,
                                   const OctetParts& parts) {
  const unsigned unit = octet / 4;
  if (to.turned) {
    // Word p of an octet goes to step p / 2 of its unit, half p % 2: the four of a unit were exchanged.
    const std::size_t block = ((std::size_t{unit / 2} * to.row_tiles + row / 8) * 4 + unit % 2 * 2) * 16;
    static_cast<uint4*>(to.high)[block + octet % 4 * 8 + row % 8] = parts.high;
    return;
  }
  const std::size_t at = (std::size_t{unit} * to.row_tiles + row / 8) * 32 + row % 8 * 4 + octet % 4;
  static_cast<uint4*>(to.high)[at] = parts.high;
  if (to.low != nullptr) static_cast<uint4*>(to.low)[at] = parts.low;
  if (octet % 4 == 0) to.sums[std::size_t{unit} * to.row_tiles * 8 + row] = parts.unit_sum;
}

/// Row `row` of what split_rows_cuda() does, by a block of kThreads threads; waits for earlier kernels.
template <unsigned kThreads, unsigned kHeld = held_octets(kThreads), RowKind kKind = RowKind::kPlain>
__device__ inline void split_row(const SplitRowsCudaArgs& args, unsigned row) {
  const HeldGains<kThreads> gains(args.from);
  const SumGains<kKind> sum_gains(args.from.sum, args.from.columns);
  wait_for_earlier();
  __shared__ RowShared shared;
  const SplitRows& to = args.to;
  const std::uint32_t* places = args.place == nullptr ? nullptr : args.place + row * args.per_row;
  const auto keep = [&](unsigned octet, OctetParts parts) {
    if (to.turned) parts.high = turn_words(parts.high);
    if (places == nullptr) return store_octet(to, row, octet, parts);
    for (unsigned j = 0; j < args.per_row; ++j) store_octet(to, places[j], octet, parts);
  };
  const auto values = row_values<kKind>(args.from, row, sum_gains, shared, true);
  const float factor =
      prepare_row<kThreads, kHeld>(args.from, gains, values, to.units, to.low != nullptr, shared.both, keep);
  if (places == nullptr) {
    if (threadIdx.x == 0) to.factors[row] = factor;
  } else if (threadIdx.x < args.per_row) {
    to.factors[places[threadIdx.x]] = factor;
  }
}

}  // namespace lanner::kernels
