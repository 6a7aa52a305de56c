// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_pass.simd.h"
#include "kernels/simd/dot_tile.h"

namespace lanner::kernels {
namespace {

/// The queries that attend some position of one block, and the places of the block that any of them attends.
struct ActiveQueries {
  std::size_t count = 0;
  std::size_t slot[kAttentionMostQueries];
  const float* q[kAttentionMostQueries];
  float* out[kAttentionMostQueries];
  float correction[kAttentionMostQueries];
  std::size_t low = kKvBlock;
  std::size_t high = 0;
};

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
    active.out[active.count] = pass.sums[i];
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

/// Blocks in float.
template <typename Rows>
class FloatBlock {
 public:
  FloatBlock(const AttentionPass& pass, const Rows& rows, std::size_t /*head_bytes*/)
      : rows_(rows),
        scores_(pass.block_scratch),
        widened_(pass.block_scratch + kAttentionPassQueries * kKvBlock) {}

  void operator()(AttentionPass& pass, const HeadBlock& block) const {
    ActiveQueries active;
    find_active(active, pass, block.begin);
    if (active.count == 0) return;
    const std::size_t first_key = active.low - active.low % kDotKeys;
    const std::size_t last_key = (active.high + kDotKeys - 1) / kDotKeys * kDotKeys;
    const auto* k = rows_(block.keys, first_key, last_key, widened_);
    for (std::size_t key = first_key; key < last_key; key += kDotKeys)
      dot_rows(scores_ + key, kKvBlock, active.q, active.count, k + key * pass.head_dim, pass.head_dim,
               pass.head_dim);
    for (std::size_t i = 0; i < active.count; ++i)
      active.correction[i] = weigh_block(pass, scores_ + i * kKvBlock, active.slot[i], block.begin);
    value_rows(active, 0, scores_, rows_(block.values, active.low, active.high, widened_), pass.head_dim);
  }

 private:
  Rows rows_;
  float* scores_;   ///< [active, 64], then the weights in their place
  float* widened_;  ///< [64, head_dim] of quantized keys, then values
};

}  // namespace
}  // namespace lanner::kernels
