// SPDX-License-Identifier: MIT
#pragma once

#include <cassert>
#include <cstddef>

#include "kernels/delta_net/causal_conv.h"
#include "kernels/simd/lanes.h"
#include "kernels/simd/vec_math.h"

namespace lanner::kernels {
namespace {

inline void causal_conv_row(const CausalConvArgs& args, std::size_t row, std::size_t begin, std::size_t end) {
  const std::size_t past = args.taps - 1;
  const float* inputs[kMaxConvTaps];
  for (std::size_t tap = 0; tap < args.taps; ++tap) {
    const std::size_t at = row + tap;  // row of [history; x]
    inputs[tap] =
        (at < past ? args.history + at * args.channels : args.x + (at - past) * args.channels) + begin;
  }
  const float* w = args.w + begin;
  float* out = args.out + row * args.channels + begin;
  for_vectors(end - begin, [&](std::size_t i, auto lanes) {
    Vec sum = lanes.load(inputs[0] + i) * lanes.load(w + i);
    for (std::size_t tap = 1; tap < args.taps; ++tap)
      sum = fma(lanes.load(inputs[tap] + i), lanes.load(w + tap * args.channels + i), sum);
    lanes.store(out + i, vec_silu(sum));
  });
}

// Channels go in tiles whose weights and last rows stay in the first-level cache while the rows pass.
inline void causal_conv_channels(const CausalConvArgs& args, std::size_t begin, std::size_t end) {
  assert(args.taps >= 1 && args.taps <= kMaxConvTaps);
  constexpr std::size_t kTile = 512;
  for (std::size_t tile = begin; tile < end; tile += kTile)
    for (std::size_t row = 0; row < args.rows; ++row)
      causal_conv_row(args, row, tile, tile + kTile < end ? tile + kTile : end);
}

}  // namespace
}  // namespace lanner::kernels
