// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention/kv_type.h"

namespace lanner::kernels {

inline constexpr std::size_t kMaxHeadDim = 1024;

/// Block table of one layer of one sequence. Block b holds positions [64b, 64b+64) as KvLayout says; keys[b -
/// first_block] points to it. Only blocks inside some row's key range are read.
struct KvBlocks {
  const void* const* keys = nullptr;
  const void* const* values = nullptr;
  std::size_t first_block = 0;
  KvType type = KvType::kF32;
};

/// Keys are attended in segments of this many absolute positions, each reduced alone and added to those
/// before it.
inline constexpr std::size_t kAttentionSegment = 512;

/// What segments that were computed apart leave behind: [segments, rows, q_heads, head_dim + 2], each the
/// weighted sum of values, the largest score and the sum of weights.
inline constexpr std::size_t kAttentionPartialExtra = 2;
struct AttentionPartials {
  float* memory = nullptr;
  std::size_t first_segment = 0;
  std::size_t segments = 0;
};

/// Scaled dot-product attention of `rows` queries of one sequence.
struct AttentionArgs {
  const float* q = nullptr;  ///< [rows, q_heads, head_dim]
  float* out = nullptr;      ///< [rows, q_heads, head_dim], not q
  std::size_t rows = 0;
  std::size_t q_heads = 0;
  std::size_t kv_heads = 0;  ///< divides q_heads; query head h reads kv head h / (q_heads / kv_heads)
  std::size_t head_dim = 0;  ///< at most kMaxHeadDim
  float scale = 1;
  KvBlocks kv;
  /// Row r attends positions [key_begin[r], key_end[r]), never empty. Causal rows end after their own
  /// position; a sliding window moves the beginning; a bidirectional image block moves the end.
  const std::int32_t* key_begin = nullptr;
  const std::int32_t* key_end = nullptr;
  float* scratch = nullptr;         ///< attention_scratch_floats(...) floats of the calling thread
  AttentionPartials partials = {};  ///< for attention_segment and attention_merge only
  std::size_t segment = 0;          ///< for attention_segment only
};

/// out[r,h] = softmax_j(scale * q[r,h]·k[j]) · v[j] for rows [row_begin, row_end) and query heads
/// [head_begin, head_end). Online softmax in float over blocks of 64 absolute positions in ascending order
/// inside a segment, segments added in ascending order; positions outside a row's range add exact zeros, so
/// the tree of one (row, head) depends on its own range only. Every position between the smallest begin and
/// the largest end of the given rows must have been written (finite), since rows share their passes.
/// batch-invariant: yes. Source: Milakov & Gimelshein 2018; Dao et al. 2022. Reference: double, two passes
/// over a segment.
using AttentionFn = void(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                         std::size_t head_begin, std::size_t head_end);
AttentionFn attention_reference, attention_avx2, attention_avx512, attention_neon;

/// Fills args.partials of segment args.segment for the given rows and heads, so that segments may run on
/// different threads; attention_merge then gives the bits of AttentionFn.
AttentionFn attention_segment_reference, attention_segment_avx2, attention_segment_avx512,
    attention_segment_neon;

/// out[r,h] of rows [row_begin, row_end) and heads [head_begin, head_end) from the partials of all segments.
AttentionFn attention_merge_reference, attention_merge_avx2, attention_merge_avx512, attention_merge_neon;

/// (row, query head) pairs of one kv head that share one pass over the keys.
inline constexpr std::size_t kAttentionPassQueries = 32;
/// The same for the arithmetic that takes most; see attention_int16.h.
inline constexpr std::size_t kAttentionMostQueries = 128;

/// Floats that a pass of so many queries keeps from block to block.
constexpr std::size_t attention_pass_floats(std::size_t queries, std::size_t head_dim) {
  return queries * (4 + head_dim);
}

/// Floats of scratch one thread needs for any number of rows and heads.
std::size_t attention_scratch_floats(KvType type, std::size_t head_dim);

}  // namespace lanner::kernels
