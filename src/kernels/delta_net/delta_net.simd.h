// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kernels/delta_net/delta_decay.simd.h"
#include "kernels/delta_net/delta_net.h"
#include "kernels/delta_net/delta_net_scratch.h"
#include "kernels/simd/dot_tile.h"

namespace lanner::kernels {
namespace {

/// Rows whose reads of the state share one pass over it, and the vectors of columns they take at once: with k
/// and q of each row they fill the registers.
inline constexpr std::size_t kStateRows = 3;
inline constexpr std::size_t kStateVectors = kLanes == 8 ? 2 : 4;
/// Vectors of value columns that are advanced together: those of a whole row of S where the registers hold
/// them.
inline constexpr std::size_t kPanelVectors = kLanes == 16 ? 8 : 4;

/// What the panels of one value head need.
struct DeltaHead {
  const DeltaNetArgs* args;
  const float* queries[2 * kMostDeltaChunk];  ///< k and q of each row of the call
  const float* v;                             ///< row 0
  const float* beta;                          ///< row 0
  const float* state;
  const float* next_state;  ///< of the value head after it, or again its own
  float* u;
  float* out;                          ///< row 0
  float state_decay[kMostDeltaChunk];  ///< e^G(-1,t) of each row of the call
};

/// Copies the keys of the call to their entries and forms all k_t·k_i and q_t·k_i with i <= t. Each tile of
/// keys also meets entries after t: those products are never used.
inline void score_keys(const DeltaNetArgs& args, std::size_t key_head, const float* const* queries) {
  float* keys = args.entry_keys + key_head * args.chunk * args.key_dim;
  for (std::size_t row = 0; row < args.rows; ++row)
    for_vectors(args.key_dim, [&](std::size_t d, auto lanes) {
      lanes.store(keys + (args.first + row) * args.key_dim + d, lanes.load(queries[2 * row] + d));
    });
  float* scores = args.scratch + kDeltaScores;
  for (std::size_t key = 0; key < args.first + args.rows; key += kDotKeys) {
    const std::size_t row = key > args.first ? key - args.first : 0;
    dot_rows(scores + row * 2 * kMostDeltaChunk + key, kMostDeltaChunk, queries + 2 * row,
             2 * (args.rows - row), keys + key * args.key_dim, args.key_dim, args.key_dim);
  }
}

/// Decays of one value head: its g become entries, its weights e^G(i,t) (k_t·k_i) and likewise for q.
inline void weigh_scores(DeltaHead& head, const DeltaNetArgs& args, std::size_t value_head) {
  float* g = args.entry_decay + value_head * args.chunk;
  DecayLedger ledger;
  float decays[DecayLedger::kSlots] = {};
  for (std::size_t t = 0; t < args.first; ++t) ledger.advance(g[t]);
  for (std::size_t row = 0; row < args.rows; ++row) {
    const std::size_t t = args.first + row;
    g[t] = args.log_decay[row * args.value_heads + value_head];
    ledger.advance(g[t]);
    ledger.weights(decays);
    head.state_decay[row] = decays[0];
    const float* scores = args.scratch + kDeltaScores + row * 2 * kMostDeltaChunk;
    float* weights = args.scratch + kDeltaWeights + row * 2 * kMostDeltaChunk;
    for (std::size_t i = 0; i <= t; i += kLanes) {
      const Vec decay = load(decays + 1 + i);
      store(weights + i, load(scores + i) * decay);
      store(weights + kMostDeltaChunk + i, load(scores + kMostDeltaChunk + i) * decay);
    }
  }
}

/// A panel of columns of S: row d begins at first + d * stride; that of `ahead` comes into the cache
/// meanwhile where one row of queries reads S, which takes as long as memory does.
struct StatePanel {
  const float* first;
  const float* ahead;
  std::size_t stride;
};

/// reads[pair, columns] = Sᵀ queries[pair] for Pairs queries, the rows of S added in ascending order.
template <std::size_t Pairs, std::size_t Vectors, typename Lanes>
inline void read_state_tile(float* reads, const StatePanel& panel, const float* const* queries,
                            std::size_t key_dim, Lanes lanes) {
  constexpr std::size_t kLine = 64 / sizeof(float);
  Vec sums[Pairs][Vectors];
  for (auto& row : sums)
    for (Vec& sum : row) sum = splat(0);
  for (std::size_t d = 0; d < key_dim; ++d) {
    if constexpr (Pairs == 2)
      for (std::size_t i = 0; i < Vectors * kLanes; i += kLine)
        __builtin_prefetch(panel.ahead + d * panel.stride + i);
    Vec s[Vectors];
    for (std::size_t v = 0; v < Vectors; ++v) s[v] = lanes.load(panel.first + d * panel.stride + v * kLanes);
    for (std::size_t p = 0; p < Pairs; ++p) {
      const Vec x = splat(queries[p][d]);
      for (std::size_t v = 0; v < Vectors; ++v) sums[p][v] = fma(x, s[v], sums[p][v]);
    }
  }
  for (std::size_t p = 0; p < Pairs; ++p)
    for (std::size_t v = 0; v < Vectors; ++v) store(reads + p * kDeltaPanelColumns + v * kLanes, sums[p][v]);
}

/// The reads of all rows for one panel. A few rows take the whole panel at once, so that a decode step has
/// eight sums in flight; many rows take it in parts, so that each part of S serves three rows.
template <std::size_t Vectors, typename Lanes>
inline void read_state(const DeltaHead& head, std::size_t column, Lanes lanes) {
  const DeltaNetArgs& args = *head.args;
  float* reads = args.scratch + kDeltaStateReads;
  const float* state = head.state + column;
  const bool last = column + 2 * Vectors * kLanes > args.value_dim;
  const StatePanel panel = {state, last ? head.next_state : state + Vectors * kLanes, args.value_dim};
  constexpr std::size_t kPart = Vectors < kStateVectors ? Vectors : kStateVectors;
  std::size_t row = 0;
  for (; row + kStateRows <= args.rows; row += kStateRows)
    for (std::size_t v = 0; v < Vectors; v += kPart)
      read_state_tile<2 * kStateRows, kPart>(reads + row * 2 * kDeltaPanelColumns + v * kLanes,
                                             {state + v * kLanes, nullptr, args.value_dim},
                                             head.queries + 2 * row, args.key_dim, lanes);
  for (; row < args.rows; ++row)
    read_state_tile<2, Vectors>(reads + row * 2 * kDeltaPanelColumns, panel, head.queries + 2 * row,
                                args.key_dim, lanes);
}

/// u_t and o_t of one row for one panel of columns.
template <std::size_t Vectors, typename Lanes>
inline void solve_row(const DeltaHead& head, std::size_t row, std::size_t column, Lanes lanes) {
  const DeltaNetArgs& args = *head.args;
  const std::size_t t = args.first + row;
  const float* reads = args.scratch + kDeltaStateReads + row * 2 * kDeltaPanelColumns;
  const float* k_weights = args.scratch + kDeltaWeights + row * 2 * kMostDeltaChunk;
  const float* q_weights = k_weights + kMostDeltaChunk;
  float* u = head.u + column;
  const Vec decay = splat(head.state_decay[row]);

  Vec read[Vectors];
  Vec out[Vectors];
  for (std::size_t v = 0; v < Vectors; ++v) {
    read[v] = load(reads + v * kLanes) * decay;
    out[v] = load(reads + kDeltaPanelColumns + v * kLanes) * decay;
  }
  for (std::size_t i = 0; i < t; ++i) {
    const Vec k_weight = splat(k_weights[i]);
    const Vec q_weight = splat(q_weights[i]);
    for (std::size_t v = 0; v < Vectors; ++v) {
      const Vec u_i = lanes.load(u + i * args.value_dim + v * kLanes);
      read[v] = fma(k_weight, u_i, read[v]);
      out[v] = fma(q_weight, u_i, out[v]);
    }
  }
  const float* v_row = head.v + row * args.qkv_stride + column;
  float* out_row = head.out + row * args.value_heads * args.value_dim + column;
  for (std::size_t v = 0; v < Vectors; ++v) {
    const Vec u_t = splat(head.beta[row * args.value_heads]) * (lanes.load(v_row + v * kLanes) - read[v]);
    lanes.store(u + t * args.value_dim + v * kLanes, u_t);
    lanes.store(out_row + v * kLanes, fma(splat(q_weights[t]), u_t, out[v]));
  }
}

template <std::size_t Vectors, typename Lanes>
inline void advance_panel(const DeltaHead& head, std::size_t column, Lanes lanes) {
  read_state<Vectors>(head, column, lanes);
  for (std::size_t row = 0; row < head.args->rows; ++row) solve_row<Vectors>(head, row, column, lanes);
}

template <std::size_t Vectors = kPanelVectors>
inline void advance_columns(const DeltaHead& head, std::size_t column) {
  const std::size_t end = head.args->value_dim;
  for (; column + Vectors * kLanes <= end; column += Vectors * kLanes)
    advance_panel<Vectors>(head, column, WholeLanes{});
  if constexpr (Vectors > 1)
    advance_columns<Vectors / 2>(head, column);
  else if (column < end)
    advance_panel<1>(head, column, FirstLanes{end - column});
}

inline void advance_heads(const DeltaNetArgs& args, std::size_t head_begin, std::size_t head_end) {
  const std::size_t group = args.value_heads / args.key_heads;
  DeltaHead head;
  head.args = &args;
  for (std::size_t j = head_begin; j < head_end; ++j) {
    const std::size_t key_head = j / group;
    if (j % group == 0) {
      for (std::size_t row = 0; row < args.rows; ++row) {
        head.queries[2 * row] = args.k + row * args.qkv_stride + key_head * args.key_dim;
        head.queries[2 * row + 1] = args.q + row * args.qkv_stride + key_head * args.key_dim;
      }
      score_keys(args, key_head, head.queries);
    }
    head.v = args.v + j * args.value_dim;
    head.beta = args.beta + j;
    head.state = args.state + j * args.key_dim * args.value_dim;
    head.next_state = head.state + (j + 1 < head_end ? args.key_dim * args.value_dim : 0);
    head.u = args.entry_values + j * args.chunk * args.value_dim;
    head.out = args.out + j * args.value_dim;
    weigh_scores(head, args, j);
    advance_columns(head, 0);
  }
}

}  // namespace
}  // namespace lanner::kernels
