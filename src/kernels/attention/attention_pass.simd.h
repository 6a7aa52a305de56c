// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention/attention.h"
#include "kernels/attention/kv_rows.simd.h"
#include "kernels/simd/vec_math.h"

namespace lanner::kernels {
namespace {

inline constexpr float kMinusInfinity = -__builtin_inff();

/// The (row, head) pairs of one kv head that pass over the keys together, with the running softmax of the
/// segment they are in: the largest score so far and the sum of weights relative to it.
struct AttentionPass {
  std::size_t count = 0;
  const float* q[kAttentionMostQueries];
  float* out[kAttentionMostQueries];
  float* sums[kAttentionMostQueries];  ///< weighted values of the segment
  std::size_t begin[kAttentionMostQueries];
  std::size_t end[kAttentionMostQueries];
  float* largest;         ///< [count]
  float* total;           ///< [count]
  float* merged_largest;  ///< [count] of the segments before
  float* merged_total;    ///< [count]
  float* segment_sums;    ///< [count, head_dim]
  float* block_scratch;   ///< what a block is computed with
  float scale;
  std::size_t head_dim;
};

inline std::size_t smaller(std::size_t a, std::size_t b) { return a < b ? a : b; }
inline std::size_t larger(std::size_t a, std::size_t b) { return a < b ? b : a; }

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

/// One head of one block of keys and values.
struct HeadBlock {
  const std::byte* keys;
  const std::byte* values;
  const std::byte* next_keys;  ///< of the block after it, to read ahead; may be nullptr
  std::size_t begin;           ///< its first position
};

/// Reduces one segment from nothing into pass.sums, pass.largest and pass.total.
template <typename Block>
inline void attend_segment(AttentionPass& pass, const AttentionArgs& args, std::size_t head_offset,
                           std::size_t segment, const Block& attend_block) {
  for (std::size_t i = 0; i < pass.count; ++i) {
    pass.largest[i] = kMinusInfinity;
    pass.total[i] = 0;
    for_vectors(pass.head_dim, [&](std::size_t d, auto lanes) { lanes.store(pass.sums[i] + d, splat(0)); });
  }
  const KeyRange all = range_of(pass);
  const std::size_t begin = larger(all.begin, segment * kAttentionSegment);
  const std::size_t end = smaller(all.end, (segment + 1) * kAttentionSegment);
  for (std::size_t block = begin / kKvBlock; block * kKvBlock < end; ++block) {
    const std::size_t entry = block - args.kv.first_block;
    const bool last = (block + 1) * kKvBlock >= end;
    attend_block(
        pass,
        {.keys = static_cast<const std::byte*>(args.kv.keys[entry]) + head_offset,
         .values = static_cast<const std::byte*>(args.kv.values[entry]) + head_offset,
         .next_keys = last ? nullptr : static_cast<const std::byte*>(args.kv.keys[entry + 1]) + head_offset,
         .begin = block * kKvBlock});
  }
}

/// Adds a segment to those before it.
inline void merge(float* out, float& merged_largest, float& merged_total, const float* sums, float largest,
                  float total, std::size_t head_dim) {
  if (total == 0) return;  // nothing of it is attended
  const float now = merged_largest < largest ? largest : merged_largest;
  const Vec before = vec_exp(splat(merged_largest - now));
  const Vec added = vec_exp(splat(largest - now));
  for_vectors(head_dim, [&](std::size_t d, auto lanes) {
    lanes.store(out + d, fma(lanes.load(sums + d), added, lanes.load(out + d) * before));
  });
  merged_total = merged_total * first_lane(before) + total * first_lane(added);
  merged_largest = now;
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
  template <typename Block>
  void operator()(AttentionPass& pass, const AttentionArgs& args, std::size_t head_offset,
                  const Block& attend_block) const {
    const KeyRange range = range_of(pass);
    const std::size_t first = range.begin / kAttentionSegment;
    const std::size_t last = (range.end - 1) / kAttentionSegment;
    if (first == last) {
      for (std::size_t i = 0; i < pass.count; ++i) pass.sums[i] = pass.out[i];
      attend_segment(pass, args, head_offset, first, attend_block);
      for (std::size_t i = 0; i < pass.count; ++i) divide_by_total(pass.out[i], pass.total[i], pass.head_dim);
      return;
    }
    for (std::size_t i = 0; i < pass.count; ++i) {
      pass.sums[i] = pass.segment_sums + i * pass.head_dim;
      pass.merged_largest[i] = kMinusInfinity;
      pass.merged_total[i] = 0;
      for_vectors(pass.head_dim, [&](std::size_t d, auto lanes) { lanes.store(pass.out[i] + d, splat(0)); });
    }
    for (std::size_t segment = first; segment <= last; ++segment) {
      attend_segment(pass, args, head_offset, segment, attend_block);
      for (std::size_t i = 0; i < pass.count; ++i)
        merge(pass.out[i], pass.merged_largest[i], pass.merged_total[i], pass.sums[i], pass.largest[i],
              pass.total[i], pass.head_dim);
    }
    for (std::size_t i = 0; i < pass.count; ++i)
      divide_by_total(pass.out[i], pass.merged_total[i], pass.head_dim);
  }
};

/// Where args.partials keeps a segment of a row and head.
inline float* partial_of(const AttentionArgs& args, std::size_t segment, std::size_t row, std::size_t head) {
  const std::size_t index = ((segment - args.partials.first_segment) * args.rows + row) * args.q_heads + head;
  return args.partials.memory + index * (args.head_dim + kAttentionPartialExtra);
}

/// Segment args.segment alone, into args.partials.
struct OneSegment {
  template <typename Block>
  void operator()(AttentionPass& pass, const AttentionArgs& args, std::size_t head_offset,
                  const Block& attend_block) const {
    for (std::size_t i = 0; i < pass.count; ++i) {
      const std::size_t pair = static_cast<std::size_t>(pass.q[i] - args.q) / args.head_dim;
      pass.sums[i] = partial_of(args, args.segment, pair / args.q_heads, pair % args.q_heads);
    }
    attend_segment(pass, args, head_offset, args.segment, attend_block);
    for (std::size_t i = 0; i < pass.count; ++i) {
      pass.sums[i][args.head_dim] = pass.largest[i];
      pass.sums[i][args.head_dim + 1] = pass.total[i];
    }
  }
};

inline void merge_rows(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                       std::size_t head_begin, std::size_t head_end) {
  for (std::size_t row = row_begin; row < row_end; ++row)
    for (std::size_t head = head_begin; head < head_end; ++head) {
      float* out = args.out + (row * args.q_heads + head) * args.head_dim;
      for_vectors(args.head_dim, [&](std::size_t d, auto lanes) { lanes.store(out + d, splat(0)); });
      float largest = kMinusInfinity;
      float total = 0;
      for (std::size_t s = 0; s < args.partials.segments; ++s) {
        const float* sums = partial_of(args, args.partials.first_segment + s, row, head);
        merge(out, largest, total, sums, sums[args.head_dim], sums[args.head_dim + 1], args.head_dim);
      }
      divide_by_total(out, total, args.head_dim);
    }
}

/// The scratch of attention_pass_floats() and what follows it.
inline void lay_out_scratch(AttentionPass& pass, std::size_t queries, float* scratch) {
  pass.segment_sums = scratch;
  pass.largest = pass.segment_sums + queries * pass.head_dim;
  pass.total = pass.largest + queries;
  pass.merged_largest = pass.total + queries;
  pass.merged_total = pass.merged_largest + queries;
  pass.block_scratch = pass.merged_total + queries;
}

/// How the arithmetic of blocks, AnyBlock<Rows>, is chosen for a type of keys and values.
template <template <typename> typename AnyBlock, typename Reduce>
inline void reduce_blocks(AttentionPass& pass, const AttentionArgs& args, std::size_t head_offset,
                          const Reduce& reduce) {
  const KvLayout layout = {args.kv.type, args.head_dim};
  switch (args.kv.type) {
    case KvType::kF32:
      return reduce(pass, args, head_offset, AnyBlock<FloatRows>(pass, {}, layout.head_bytes()));
    case KvType::kBF16:
      return reduce(pass, args, head_offset, AnyBlock<Bf16Rows>(pass, {}, layout.head_bytes()));
    case KvType::kAffine8:
      return reduce(pass, args, head_offset, AnyBlock<AffineRows<8>>(pass, {layout}, layout.head_bytes()));
    case KvType::kAffine6:
      return reduce(pass, args, head_offset, AnyBlock<AffineRows<6>>(pass, {layout}, layout.head_bytes()));
    case KvType::kAffine4:
      return reduce(pass, args, head_offset, AnyBlock<AffineRows<4>>(pass, {layout}, layout.head_bytes()));
  }
}

/// Rows [row_begin, row_end) of query heads [head_begin, head_end), all of one kv head.
template <template <typename> typename AnyBlock, std::size_t Queries, typename Reduce>
inline void attend_heads(const AttentionArgs& args, KeyRange rows, KeyRange heads, const Reduce& reduce) {
  AttentionPass pass;
  pass.scale = args.scale;
  pass.head_dim = args.head_dim;
  lay_out_scratch(pass, Queries, args.scratch);
  for (std::size_t row = rows.begin; row < rows.end; ++row)
    for (std::size_t head = heads.begin; head < heads.end; ++head) {
      const std::size_t offset = (row * args.q_heads + head) * args.head_dim;
      pass.q[pass.count] = args.q + offset;
      pass.out[pass.count] = args.out + offset;
      pass.begin[pass.count] = static_cast<std::size_t>(args.key_begin[row]);
      pass.end[pass.count] = static_cast<std::size_t>(args.key_end[row]);
      ++pass.count;
    }
  const std::size_t head_bytes = KvLayout{args.kv.type, args.head_dim}.head_bytes();
  reduce_blocks<AnyBlock>(pass, args, heads.begin / (args.q_heads / args.kv_heads) * head_bytes, reduce);
}

/// All rows and heads, up to Queries pairs of one kv head at a time.
template <template <typename> typename AnyBlock, std::size_t Queries, typename Reduce>
inline void attend_rows(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                        std::size_t head_begin, std::size_t head_end, const Reduce& reduce) {
  const std::size_t group = args.q_heads / args.kv_heads;
  while (head_begin < head_end) {
    const std::size_t group_end = smaller(head_end, (head_begin / group + 1) * group);
    const std::size_t heads = smaller(group_end - head_begin, Queries);
    const std::size_t tile = Queries / heads;
    for (std::size_t row = row_begin; row < row_end; row += tile)
      attend_heads<AnyBlock, Queries>(args, {row, smaller(row + tile, row_end)},
                                      {head_begin, head_begin + heads}, reduce);
    head_begin += heads;
  }
}

}  // namespace
}  // namespace lanner::kernels
