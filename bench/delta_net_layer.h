// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/delta_net/delta_net.h"
#include "ramp.h"

namespace lanner::bench {

inline constexpr std::size_t kDeltaKeyHeads = 16;
inline constexpr std::size_t kDeltaDim = 128;
inline constexpr std::size_t kDeltaChunk = 32;  // of cpu_ops()

/// One layer: 16 key heads, `value_heads` value heads of 128 x 128, entries of a half-full chunk.
struct DeltaNetLayer {
  explicit DeltaNetLayer(std::size_t heads)
      : value_heads(heads),
        qkv(ramp(kDeltaChunk * stride())),
        beta(kDeltaChunk * heads, 0.5F),
        log_decay(kDeltaChunk * heads, -0.05F),
        out(kDeltaChunk * heads * kDeltaDim),
        state(ramp(heads * kDeltaDim * kDeltaDim)),
        keys(ramp(kDeltaKeyHeads * kDeltaChunk * kDeltaDim)),
        values(ramp(heads * kDeltaChunk * kDeltaDim)),
        decays(heads * kDeltaChunk, -0.05F),
        scratch(kernels::delta_net_scratch_floats(kDeltaDim, kDeltaDim)) {
    for (float& x : qkv) x *= 0.1F;
    for (float& x : keys) x *= 0.1F;
  }

  std::size_t stride() const { return (2 * kDeltaKeyHeads + value_heads) * kDeltaDim; }

  kernels::DeltaNetArgs args(std::size_t rows, std::size_t first) {
    return {.q = qkv.data(),
            .k = qkv.data() + kDeltaKeyHeads * kDeltaDim,
            .v = qkv.data() + 2 * kDeltaKeyHeads * kDeltaDim,
            .qkv_stride = stride(),
            .beta = beta.data(),
            .log_decay = log_decay.data(),
            .out = out.data(),
            .rows = rows,
            .first = first,
            .key_heads = kDeltaKeyHeads,
            .value_heads = value_heads,
            .key_dim = kDeltaDim,
            .value_dim = kDeltaDim,
            .chunk = kDeltaChunk,
            .state = state.data(),
            .entry_keys = keys.data(),
            .entry_values = values.data(),
            .entry_decay = decays.data(),
            .scratch = scratch.data()};
  }

  kernels::DeltaFoldArgs fold_args(float* next) {
    return {.state = state.data(),
            .out = next,
            .entry_keys = keys.data(),
            .entry_values = values.data(),
            .entry_decay = decays.data(),
            .entries = kDeltaChunk,
            .key_heads = kDeltaKeyHeads,
            .value_heads = value_heads,
            .key_dim = kDeltaDim,
            .value_dim = kDeltaDim,
            .chunk = kDeltaChunk};
  }

  std::size_t value_heads;
  std::vector<float> qkv, beta, log_decay, out, state, keys, values, decays, scratch;
};

}  // namespace lanner::bench
