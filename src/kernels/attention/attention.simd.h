// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention/attention.h"
#include "kernels/simd/dot_tile.h"
#include "kernels/simd/vec_math.h"

namespace lanner::kernels {
namespace {

inline constexpr float kMinusInfinity = -__builtin_inff();

/// The (row, head) pairs of one kv head that pass over the keys together, with their running softmax. The
/// output rows hold the running sums.
struct AttentionPass {
  std::size_t count = 0;
  const float* q[kAttentionPassQueries];
  float* out[kAttentionPassQueries];
  std::size_t begin[kAttentionPassQueries];
  std::size_t end[kAttentionPassQueries];
  float* largest;  ///< [count]
  float* total;    ///< [count]
  float* scores;   ///< [active, 64], then the weights in their place
  float scale;
  std::size_t head_dim;
};

/// The queries that attend some position of one block, and the places of the block that any of them attends.
struct ActiveQueries {
  std::size_t count = 0;
  std::size_t slot[kAttentionPassQueries];
  const float* q[kAttentionPassQueries];
  float* out[kAttentionPassQueries];
  float correction[kAttentionPassQueries];
  std::size_t low = kKvBlock;
  std::size_t high = 0;
};

inline std::size_t smaller(std::size_t a, std::size_t b) { return a < b ? a : b; }
inline std::size_t larger(std::size_t a, std::size_t b) { return a < b ? b : a; }

inline void find_active(ActiveQueries& active, const AttentionPass& pass, std::size_t block_begin) {
  active.count = 0;
  active.low = kKvBlock;
  active.high = 0;
  for (std::size_t i = 0; i < pass.count; ++i) {
    const std::size_t begin = larger(pass.begin[i], block_begin);
    const std::size_t end = smaller(pass.end[i], block_begin + kKvBlock);
    if (begin >= end) continue;
    active.slot[active.count] = i;
    active.q[active.count] = pass.q[i];
    active.out[active.count] = pass.out[i];
    ++active.count;
    active.low = smaller(active.low, begin - block_begin);
    active.high = larger(active.high, end - block_begin);
  }
}

/// Turns the 64 scores of one query into weights e^(score - largest), places outside [begin, end) into exact
/// zeros, and returns the factor for what was summed before this block.
inline float weigh_block(AttentionPass& pass, float* scores, std::size_t slot, std::size_t block_begin) {
  alignas(64) static constexpr float kPlaces[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  constexpr std::size_t kVectors = kKvBlock / kLanes;
  const Vec minus_infinity = splat(kMinusInfinity);
  const Vec begin = splat(static_cast<float>(larger(pass.begin[slot], block_begin) - block_begin));
  const Vec end = splat(static_cast<float>(smaller(pass.end[slot] - block_begin, kKvBlock)));
  const Vec scale = splat(pass.scale);

  Vec s[kVectors];
  Vec most = minus_infinity;
  for (std::size_t i = 0; i < kVectors; ++i) {
    const Vec place = load(kPlaces) + splat(static_cast<float>(i * kLanes));
    s[i] = select_less(place, end, load(scores + i * kLanes) * scale, minus_infinity);
    s[i] = select_less(place, begin, minus_infinity, s[i]);
    most = max(most, s[i]);
  }
  const float before = pass.largest[slot];
  const float block_largest = max_lanes(most);
  const float now = before < block_largest ? block_largest : before;
  const float correction = first_lane(vec_exp(splat(before - now)));

  Vec sum = splat(0);
  for (std::size_t i = 0; i < kVectors; ++i) {
    const Vec weight = vec_exp(s[i] - splat(now));
    store(scores + i * kLanes, weight);
    sum = sum + weight;
  }
  pass.largest[slot] = now;
  pass.total[slot] = pass.total[slot] * correction + sum_lanes(sum);
  return correction;
}

/// out[q] = out[q] * correction[q] + sum over the places [low, high) of weight * value, for Vectors vectors
/// of columns. values points to the first column of place 0.
template <std::size_t Queries, std::size_t Vectors, typename Value, typename Lanes>
inline void value_tile(const ActiveQueries& active, std::size_t first, const float* weights,
                       const Value* values, std::size_t column, std::size_t head_dim, Lanes lanes) {
  Vec sums[Queries][Vectors];
  for (std::size_t a = 0; a < Queries; ++a)
    for (std::size_t v = 0; v < Vectors; ++v)
      sums[a][v] =
          lanes.load(active.out[first + a] + column + v * kLanes) * splat(active.correction[first + a]);
  for (std::size_t place = active.low; place < active.high; ++place) {
    Vec weight[Queries];
    for (std::size_t a = 0; a < Queries; ++a) weight[a] = splat(weights[(first + a) * kKvBlock + place]);
    for (std::size_t v = 0; v < Vectors; ++v) {
      const Vec value = lanes.load(values + place * head_dim + column + v * kLanes);
      for (std::size_t a = 0; a < Queries; ++a) sums[a][v] = fma(weight[a], value, sums[a][v]);
    }
  }
  for (std::size_t a = 0; a < Queries; ++a)
    for (std::size_t v = 0; v < Vectors; ++v)
      lanes.store(active.out[first + a] + column + v * kLanes, sums[a][v]);
}

/// value_tile over all columns: as many vectors at once as there are, then a partial one.
template <std::size_t Queries, std::size_t Vectors, typename Value>
inline void value_columns(const ActiveQueries& active, std::size_t first, const float* weights,
                          const Value* values, std::size_t column, std::size_t head_dim) {
  for (; column + Vectors * kLanes <= head_dim; column += Vectors * kLanes)
    value_tile<Queries, Vectors>(active, first, weights, values, column, head_dim, WholeLanes{});
  if constexpr (Vectors > 1)
    value_columns<Queries, Vectors / 2>(active, first, weights, values, column, head_dim);
  else if (column < head_dim)
    value_tile<Queries, 1>(active, first, weights, values, column, head_dim, FirstLanes{head_dim - column});
}

template <std::size_t Queries = kDotQueries, typename Value>
inline void value_rows(const ActiveQueries& active, std::size_t first, const float* weights,
                       const Value* values, std::size_t head_dim) {
  for (; first + Queries <= active.count; first += Queries)
    value_columns<Queries, Queries == 1 ? 8 : 4>(active, first, weights, values, 0, head_dim);
  if constexpr (Queries > 1) value_rows<Queries - 1>(active, first, weights, values, head_dim);
}

template <typename Element>
inline void attend_block(AttentionPass& pass, const Element* keys, const Element* values,
                         std::size_t block_begin) {
  ActiveQueries active;
  find_active(active, pass, block_begin);
  if (active.count == 0) return;
  for (std::size_t key = active.low - active.low % kDotKeys; key < active.high; key += kDotKeys)
    dot_rows(pass.scores + key, kKvBlock, active.q, active.count, keys + key * pass.head_dim, pass.head_dim,
             pass.head_dim);
  for (std::size_t i = 0; i < active.count; ++i)
    active.correction[i] = weigh_block(pass, pass.scores + i * kKvBlock, active.slot[i], block_begin);
  value_rows(active, 0, pass.scores, values, pass.head_dim);
}

template <typename Element>
inline void attend_pass(AttentionPass& pass, const KvBlocks& kv, std::size_t kv_head) {
  std::size_t begin = static_cast<std::size_t>(-1);
  std::size_t end = 0;
  for (std::size_t i = 0; i < pass.count; ++i) {
    begin = smaller(begin, pass.begin[i]);
    end = larger(end, pass.end[i]);
    pass.largest[i] = kMinusInfinity;
    pass.total[i] = 0;
    for_vectors(pass.head_dim, [&](std::size_t d, auto lanes) { lanes.store(pass.out[i] + d, splat(0)); });
  }
  const std::size_t head_offset = kv_head * kKvBlock * pass.head_dim;
  for (std::size_t block = begin / kKvBlock; block * kKvBlock < end; ++block)
    attend_block(pass, static_cast<const Element*>(kv.keys[block - kv.first_block]) + head_offset,
                 static_cast<const Element*>(kv.values[block - kv.first_block]) + head_offset,
                 block * kKvBlock);
  for (std::size_t i = 0; i < pass.count; ++i) {
    const Vec factor = splat(1 / pass.total[i]);
    // Adding 0 turns -0 into +0: the sign of a zero would tell how many masked places were added.
    for_vectors(pass.head_dim, [&](std::size_t d, auto lanes) {
      lanes.store(pass.out[i] + d, fma(lanes.load(pass.out[i] + d), factor, splat(0)));
    });
  }
}

/// Rows [row_begin, row_end) of query heads [head_begin, head_end), all of one kv head.
inline void attend_heads(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                         std::size_t head_begin, std::size_t head_end) {
  AttentionPass pass;
  pass.scores = args.scratch;
  pass.largest = pass.scores + kAttentionPassQueries * kKvBlock;
  pass.total = pass.largest + kAttentionPassQueries;
  pass.scale = args.scale;
  pass.head_dim = args.head_dim;
  for (std::size_t row = row_begin; row < row_end; ++row)
    for (std::size_t head = head_begin; head < head_end; ++head) {
      const std::size_t offset = (row * args.q_heads + head) * args.head_dim;
      pass.q[pass.count] = args.q + offset;
      pass.out[pass.count] = args.out + offset;
      pass.begin[pass.count] = static_cast<std::size_t>(args.key_begin[row]);
      pass.end[pass.count] = static_cast<std::size_t>(args.key_end[row]);
      ++pass.count;
    }
  const std::size_t kv_head = head_begin / (args.q_heads / args.kv_heads);
  if (args.kv.dtype == DType::kBF16)
    attend_pass<std::uint16_t>(pass, args.kv, kv_head);
  else
    attend_pass<float>(pass, args.kv, kv_head);
}

inline void attend_rows(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                        std::size_t head_begin, std::size_t head_end) {
  const std::size_t group = args.q_heads / args.kv_heads;
  while (head_begin < head_end) {
    const std::size_t group_end = smaller(head_end, (head_begin / group + 1) * group);
    const std::size_t heads = smaller(group_end - head_begin, kAttentionPassQueries);
    const std::size_t tile = smaller(kAttentionPassQueries / heads, kAttentionRowTile);
    for (std::size_t row = row_begin; row < row_end; row += tile)
      attend_heads(args, row, smaller(row + tile, row_end), head_begin, head_begin + heads);
    head_begin += heads;
  }
}

}  // namespace
}  // namespace lanner::kernels
