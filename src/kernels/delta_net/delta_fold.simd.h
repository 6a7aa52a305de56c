// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kernels/delta_net/delta_decay.simd.h"
#include "kernels/delta_net/delta_net.h"
#include "kernels/simd/lanes.h"

namespace lanner::kernels {
namespace {

/// Rows of S and vectors of columns that are summed together in registers.
inline constexpr std::size_t kFoldRows = 6;
inline constexpr std::size_t kFoldVectors = kLanes == 8 ? 2 : 4;

/// One value head.
struct FoldHead {
  const float* state;
  float* out;
  const float* keys;  ///< [entries, key_dim]
  const float* u;     ///< [entries, value_dim]
  std::size_t entries;
  std::size_t key_dim;
  std::size_t value_dim;
  const float* decays;  ///< of the state, then of the entries
};

/// Rows [row, row + Rows) of one panel. decayed holds the panel's e^G u_i, [entries, Vectors * kLanes].
template <std::size_t Rows, std::size_t Vectors, typename Lanes>
inline void fold_tile(const FoldHead& head, std::size_t row, std::size_t column, const float* decayed,
                      Lanes lanes) {
  Vec sums[Rows][Vectors];
  for (std::size_t r = 0; r < Rows; ++r)
    for (std::size_t v = 0; v < Vectors; ++v)
      sums[r][v] =
          lanes.load(head.state + (row + r) * head.value_dim + column + v * kLanes) * splat(head.decays[0]);
  for (std::size_t i = 0; i < head.entries; ++i) {
    Vec u[Vectors];
    for (std::size_t v = 0; v < Vectors; ++v) u[v] = load(decayed + (i * Vectors + v) * kLanes);
    for (std::size_t r = 0; r < Rows; ++r) {
      const Vec k = splat(head.keys[i * head.key_dim + row + r]);
      for (std::size_t v = 0; v < Vectors; ++v) sums[r][v] = fma(k, u[v], sums[r][v]);
    }
  }
  for (std::size_t r = 0; r < Rows; ++r)
    for (std::size_t v = 0; v < Vectors; ++v)
      lanes.store(head.out + (row + r) * head.value_dim + column + v * kLanes, sums[r][v]);
}

template <std::size_t Vectors, typename Lanes>
inline void fold_panel(const FoldHead& head, std::size_t column, Lanes lanes) {
  float decayed[kMostDeltaChunk * Vectors * kLanes];
  for (std::size_t i = 0; i < head.entries; ++i)
    for (std::size_t v = 0; v < Vectors; ++v)
      store(decayed + (i * Vectors + v) * kLanes,
            lanes.load(head.u + i * head.value_dim + column + v * kLanes) * splat(head.decays[1 + i]));
  std::size_t row = 0;
  for (; row + kFoldRows <= head.key_dim; row += kFoldRows)
    fold_tile<kFoldRows, Vectors>(head, row, column, decayed, lanes);
  for (; row < head.key_dim; ++row) fold_tile<1, Vectors>(head, row, column, decayed, lanes);
}

template <std::size_t Vectors = kFoldVectors>
inline void fold_columns(const FoldHead& head, std::size_t column) {
  for (; column + Vectors * kLanes <= head.value_dim; column += Vectors * kLanes)
    fold_panel<Vectors>(head, column, WholeLanes{});
  if constexpr (Vectors > 1)
    fold_columns<Vectors / 2>(head, column);
  else if (column < head.value_dim)
    fold_panel<1>(head, column, FirstLanes{head.value_dim - column});
}

inline void fold_heads(const DeltaFoldArgs& args, std::size_t head_begin, std::size_t head_end) {
  for (std::size_t j = head_begin; j < head_end; ++j) {
    const float* g = args.entry_decay + j * args.chunk;
    DecayLedger ledger;
    float decays[DecayLedger::kSlots] = {};
    for (std::size_t i = 0; i < args.entries; ++i) ledger.advance(g[i]);
    ledger.weights(decays);
    const std::size_t key_head = j / (args.value_heads / args.key_heads);
    fold_columns({.state = args.state + j * args.key_dim * args.value_dim,
                  .out = args.out + j * args.key_dim * args.value_dim,
                  .keys = args.entry_keys + key_head * args.chunk * args.key_dim,
                  .u = args.entry_values + j * args.chunk * args.value_dim,
                  .entries = args.entries,
                  .key_dim = args.key_dim,
                  .value_dim = args.value_dim,
                  .decays = decays},
                 0);
  }
}

}  // namespace
}  // namespace lanner::kernels
