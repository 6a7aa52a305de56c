// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention/attention.h"
#include "kernels/attention/kv_rows.simd.h"
#include "kernels/simd/dot_tile.h"
#include "kernels/simd/vec_math.h"

namespace lanner::kernels {
namespace {

inline constexpr float kMinusInfinity = -__builtin_inff();

/// A softmax under way: the largest score so far and the sum of weights relative to it.
struct RunningSoftmax {
  float largest = kMinusInfinity;
  float total = 0;
};

/// The (row, head) pairs of one kv head that pass over the keys together, with the running softmax of the
/// segment they are in.
struct AttentionPass {
  std::size_t count = 0;
  const float* q[kAttentionPassQueries];
  float* out[kAttentionPassQueries];
  float* sums[kAttentionPassQueries];  ///< weighted values of the segment
  std::size_t begin[kAttentionPassQueries];
  std::size_t end[kAttentionPassQueries];
  RunningSoftmax* running;  ///< [count]
  RunningSoftmax* merged;   ///< [count] of the segments before
  float* segment_sums;      ///< [count, head_dim]
  float* scores;            ///< [active, 64], then the weights in their place
  float* widened;           ///< [64, head_dim] of quantized keys, then values
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
  RunningSoftmax& running = pass.running[slot];
  const float before = running.largest;
  const float block_largest = max_lanes(most);
  const float now = before < block_largest ? block_largest : before;
  const float correction = first_lane(vec_exp(splat(before - now)));

  Vec sum = splat(0);
  for (std::size_t i = 0; i < kVectors; ++i) {
    const Vec weight = vec_exp(s[i] - splat(now));
    store(scores + i * kLanes, weight);
    sum = sum + weight;
  }
  running.largest = now;
  running.total = running.total * correction + sum_lanes(sum);
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

template <typename Rows>
inline void attend_block(AttentionPass& pass, const std::byte* keys, const std::byte* values,
                         std::size_t block_begin, const Rows& rows) {
  ActiveQueries active;
  find_active(active, pass, block_begin);
  if (active.count == 0) return;
  const std::size_t first_key = active.low - active.low % kDotKeys;
  const std::size_t last_key = (active.high + kDotKeys - 1) / kDotKeys * kDotKeys;
  const auto* k = rows(keys, first_key, last_key, pass.widened);
  for (std::size_t key = first_key; key < last_key; key += kDotKeys)
    dot_rows(pass.scores + key, kKvBlock, active.q, active.count, k + key * pass.head_dim, pass.head_dim,
             pass.head_dim);
  for (std::size_t i = 0; i < active.count; ++i)
    active.correction[i] = weigh_block(pass, pass.scores + i * kKvBlock, active.slot[i], block_begin);
  value_rows(active, 0, pass.scores, rows(values, active.low, active.high, pass.widened), pass.head_dim);
}

struct KeyRange {
  std::size_t begin;
  std::size_t end;
};

/// All positions that some query of the pass attends.
inline KeyRange range_of(const AttentionPass& pass) {
  KeyRange range = {static_cast<std::size_t>(-1), 0};
  for (std::size_t i = 0; i < pass.count; ++i) {
    range.begin = smaller(range.begin, pass.begin[i]);
    range.end = larger(range.end, pass.end[i]);
  }
  return range;
}

/// Reduces one segment from nothing into pass.sums and pass.running.
template <typename Rows>
inline void attend_segment(AttentionPass& pass, const AttentionArgs& args, std::size_t head_offset,
                           std::size_t segment, const Rows& rows) {
  for (std::size_t i = 0; i < pass.count; ++i) {
    pass.running[i] = {};
    for_vectors(pass.head_dim, [&](std::size_t d, auto lanes) { lanes.store(pass.sums[i] + d, splat(0)); });
  }
  const KeyRange all = range_of(pass);
  const std::size_t begin = larger(all.begin, segment * kAttentionSegment);
  const std::size_t end = smaller(all.end, (segment + 1) * kAttentionSegment);
  for (std::size_t block = begin / kKvBlock; block * kKvBlock < end; ++block) {
    const std::size_t entry = block - args.kv.first_block;
    attend_block(pass, static_cast<const std::byte*>(args.kv.keys[entry]) + head_offset,
                 static_cast<const std::byte*>(args.kv.values[entry]) + head_offset, block * kKvBlock, rows);
  }
}

/// Adds a segment to those before it.
inline void merge(float* out, RunningSoftmax& merged, const float* sums, const RunningSoftmax& segment,
                  std::size_t head_dim) {
  if (segment.total == 0) return;  // nothing of it is attended
  const float now = merged.largest < segment.largest ? segment.largest : merged.largest;
  const Vec before = vec_exp(splat(merged.largest - now));
  const Vec added = vec_exp(splat(segment.largest - now));
  for_vectors(head_dim, [&](std::size_t d, auto lanes) {
    lanes.store(out + d, fma(lanes.load(sums + d), added, lanes.load(out + d) * before));
  });
  merged.total = merged.total * first_lane(before) + segment.total * first_lane(added);
  merged.largest = now;
}

inline void divide_by_total(float* out, float total, std::size_t head_dim) {
  const Vec factor = splat(1 / total);
  // Adding 0 turns -0 into +0: the sign of a zero would tell how many masked places were added.
  for_vectors(head_dim, [&](std::size_t d, auto lanes) {
    lanes.store(out + d, fma(lanes.load(out + d), factor, splat(0)));
  });
}

/// All segments one after another. A lone segment is summed in place: merging it with nothing changes no bit.
struct WholeAttention {
  template <typename Rows>
  void operator()(AttentionPass& pass, const AttentionArgs& args, std::size_t head_offset,
                  const Rows& rows) const {
    const KeyRange range = range_of(pass);
    const std::size_t first = range.begin / kAttentionSegment;
    const std::size_t last = (range.end - 1) / kAttentionSegment;
    if (first == last) {
      for (std::size_t i = 0; i < pass.count; ++i) pass.sums[i] = pass.out[i];
      attend_segment(pass, args, head_offset, first, rows);
      for (std::size_t i = 0; i < pass.count; ++i)
        divide_by_total(pass.out[i], pass.running[i].total, pass.head_dim);
      return;
    }
    for (std::size_t i = 0; i < pass.count; ++i) {
      pass.sums[i] = pass.segment_sums + i * pass.head_dim;
      pass.merged[i] = {};
      for_vectors(pass.head_dim, [&](std::size_t d, auto lanes) { lanes.store(pass.out[i] + d, splat(0)); });
    }
    for (std::size_t segment = first; segment <= last; ++segment) {
      attend_segment(pass, args, head_offset, segment, rows);
      for (std::size_t i = 0; i < pass.count; ++i)
        merge(pass.out[i], pass.merged[i], pass.sums[i], pass.running[i], pass.head_dim);
    }
    for (std::size_t i = 0; i < pass.count; ++i)
      divide_by_total(pass.out[i], pass.merged[i].total, pass.head_dim);
  }
};

/// Where args.partials keeps a segment of a row and head.
inline float* partial_of(const AttentionArgs& args, std::size_t segment, std::size_t row, std::size_t head) {
  const std::size_t index = ((segment - args.partials.first_segment) * args.rows + row) * args.q_heads + head;
  return args.partials.memory + index * (args.head_dim + kAttentionPartialExtra);
}

/// Segment args.segment alone, into args.partials.
struct OneSegment {
  template <typename Rows>
  void operator()(AttentionPass& pass, const AttentionArgs& args, std::size_t head_offset,
                  const Rows& rows) const {
    for (std::size_t i = 0; i < pass.count; ++i) {
      const std::size_t pair = static_cast<std::size_t>(pass.q[i] - args.q) / args.head_dim;
      pass.sums[i] = partial_of(args, args.segment, pair / args.q_heads, pair % args.q_heads);
    }
    attend_segment(pass, args, head_offset, args.segment, rows);
    for (std::size_t i = 0; i < pass.count; ++i) {
      pass.sums[i][args.head_dim] = pass.running[i].largest;
      pass.sums[i][args.head_dim + 1] = pass.running[i].total;
    }
  }
};

inline void merge_rows(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                       std::size_t head_begin, std::size_t head_end) {
  for (std::size_t row = row_begin; row < row_end; ++row)
    for (std::size_t head = head_begin; head < head_end; ++head) {
      float* out = args.out + (row * args.q_heads + head) * args.head_dim;
      for_vectors(args.head_dim, [&](std::size_t d, auto lanes) { lanes.store(out + d, splat(0)); });
      RunningSoftmax merged;
      for (std::size_t s = 0; s < args.partials.segments; ++s) {
        const float* sums = partial_of(args, args.partials.first_segment + s, row, head);
        merge(out, merged, sums, {sums[args.head_dim], sums[args.head_dim + 1]}, args.head_dim);
      }
      divide_by_total(out, merged.total, args.head_dim);
    }
}

inline void lay_out_scratch(AttentionPass& pass, float* scratch) {
  pass.scores = scratch;
  pass.running = reinterpret_cast<RunningSoftmax*>(pass.scores + kAttentionPassQueries * kKvBlock);
  pass.merged = pass.running + kAttentionPassQueries;
  pass.segment_sums = reinterpret_cast<float*>(pass.merged + kAttentionPassQueries);
  pass.widened = pass.segment_sums + kAttentionPassQueries * pass.head_dim;
}

/// Rows [row_begin, row_end) of query heads [head_begin, head_end), all of one kv head.
template <typename Reduce>
inline void attend_heads(const AttentionArgs& args, KeyRange rows, KeyRange heads, const Reduce& reduce) {
  AttentionPass pass;
  pass.scale = args.scale;
  pass.head_dim = args.head_dim;
  lay_out_scratch(pass, args.scratch);
  for (std::size_t row = rows.begin; row < rows.end; ++row)
    for (std::size_t head = heads.begin; head < heads.end; ++head) {
      const std::size_t offset = (row * args.q_heads + head) * args.head_dim;
      pass.q[pass.count] = args.q + offset;
      pass.out[pass.count] = args.out + offset;
      pass.begin[pass.count] = static_cast<std::size_t>(args.key_begin[row]);
      pass.end[pass.count] = static_cast<std::size_t>(args.key_end[row]);
      ++pass.count;
    }
  const KvLayout layout = {args.kv.type, args.head_dim};
  const std::size_t head_offset = heads.begin / (args.q_heads / args.kv_heads) * layout.head_bytes();
  switch (args.kv.type) {
    case KvType::kF32:
      return reduce(pass, args, head_offset, FloatRows{});
    case KvType::kBF16:
      return reduce(pass, args, head_offset, Bf16Rows{});
    case KvType::kAffine8:
      return reduce(pass, args, head_offset, AffineRows<8>{layout});
    case KvType::kAffine6:
      return reduce(pass, args, head_offset, AffineRows<6>{layout});
    case KvType::kAffine4:
      return reduce(pass, args, head_offset, AffineRows<4>{layout});
  }
}

template <typename Reduce>
inline void attend_rows(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                        std::size_t head_begin, std::size_t head_end, const Reduce& reduce) {
  const std::size_t group = args.q_heads / args.kv_heads;
  while (head_begin < head_end) {
    const std::size_t group_end = smaller(head_end, (head_begin / group + 1) * group);
    const std::size_t heads = smaller(group_end - head_begin, kAttentionPassQueries);
    const std::size_t tile = smaller(kAttentionPassQueries / heads, kAttentionRowTile);
    for (std::size_t row = row_begin; row < row_end; row += tile)
      attend_heads(args, {row, smaller(row + tile, row_end)}, {head_begin, head_begin + heads}, reduce);
    head_begin += heads;
  }
}

}  // namespace
}  // namespace lanner::kernels
