// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/attention/attention.h"

namespace lanner::kernels {

/// Attention as AttentionFn, with products of integers of up to 16 bits and exact sums: twice as many
/// products per instruction as in float. A row x of q, k or v (one head) becomes integers c(x) = x / s(x),
/// rounded to nearest even, with the smallest power of two s(x) for which they are at most L; zeros with
/// s(x) = 0 when max|x| <= kSmallestRow. L is int16_score_code(head_dim) for q and k, else kInt16WeightCode.
///   score[j] = float(sum_i c(q)[i] * c(k[j])[i]) * (s(q) * scale * s(k[j]))
///   weight[j] = e^(score[j] - largest), summed in float
/// and for each block of 64 positions, with w[j] = weight[j] * s(v[j]) and t = max_j w[j] / kInt16WeightCode,
///   out += t * float(sum_j round(w[j] / t) * c(v[j])).
/// Keys and values are rounded alone and w over the row's own range, so it is batch-invariant as AttentionFn
/// is; segments are merged by attention_merge. The bits of AVX2, AVX-512 and NEON are the same. Elements lose
/// at most 2^-11 of their row's largest (heads of 256), a quarter of what bfloat16 takes from large ones.
/// Reference: the same integers, floats in double.
/// attention_int16_vnni is AVX-512 with VNNI.
AttentionFn attention_int16_reference, attention_int16_avx2, attention_int16_avx512, attention_int16_vnni,
    attention_int16_neon;
AttentionFn attention_int16_segment_reference, attention_int16_segment_avx2, attention_int16_segment_avx512,
    attention_int16_segment_vnni, attention_int16_segment_neon;

/// (row, query head) pairs of one kv head that share a pass; a pass rounds every key and value once.
inline constexpr std::size_t kInt16PassQueries = 128;
static_assert(kInt16PassQueries <= kAttentionMostQueries);

/// Rows whose largest magnitude is not above this count as zeros: its inverse times a code must be finite.
inline constexpr float kSmallestRow = 1e-30F;

/// The largest L for which head_dim products of two codes fit 32 bits, and a code 16.
constexpr int int16_score_code(std::size_t head_dim) {
  std::size_t fits = 1;
  for (std::size_t beyond = 32768; beyond - fits > 1;) {
    const std::size_t middle = (fits + beyond) / 2;
    (middle * middle * head_dim <= 0x7fffffff ? fits : beyond) = middle;
  }
  return static_cast<int>(fits);
}
/// The same for the positions of a block.
inline constexpr int kInt16WeightCode = 5792;
static_assert(std::size_t{kInt16WeightCode} * kInt16WeightCode * kKvBlock <= 0x7fffffff);

/// Floats (and integers as wide) that a pass needs beside attention_pass_floats().
struct Int16Sizes {
  /// Vectors of pairs are read whole: rows are filled up with zeros to a multiple of twice the most lanes.
  static constexpr std::size_t kFill = 32;

  explicit constexpr Int16Sizes(std::size_t head_dim) : columns((head_dim + kFill - 1) / kFill * kFill) {}

  constexpr std::size_t row_words() const { return columns / 2; }
  constexpr std::size_t floats() const {
    return kInt16PassQueries * (row_words() + 5)          // queries; scales, ranges, corrections
           + kKvBlock * (kScoreStride + row_words() + 2)  // scores or weights; keys; scales
           + kKvBlock / 2 * columns + row_words();        // values; a row of a query
  }

  /// Queries of a row of scores, and some more: rows a power of two apart would share few cache sets.
  static constexpr std::size_t kScoreStride = kInt16PassQueries + 16;

  std::size_t columns;
};

/// Floats of scratch one thread needs for any number of rows and heads.
std::size_t attention_int16_scratch_floats(KvType type, std::size_t head_dim);

}  // namespace lanner::kernels
