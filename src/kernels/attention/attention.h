// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace lanner::kernels {

/// Keys and values live in blocks of this many consecutive positions, aligned to absolute multiples.
inline constexpr std::size_t kKvBlock = 64;

inline constexpr std::size_t kMaxHeadDim = 1024;

/// Block table of one layer of one sequence. Block b holds positions [64b, 64b+64) as [kv_heads, 64,
/// head_dim]; keys[b - first_block] points to it. Only blocks inside some row's key range are read.
struct KvBlocks {
  const void* const* keys = nullptr;
  const void* const* values = nullptr;
  std::size_t first_block = 0;
  DType dtype = DType::kF32;  ///< kF32 or kBF16
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
  float* scratch = nullptr;  ///< attention_scratch_floats(...) floats of the calling thread
};

/// out[r,h] = softmax_j(scale * q[r,h]·k[j]) · v[j] for rows [row_begin, row_end) and query heads
/// [head_begin, head_end). Online softmax in float over blocks of 64 absolute positions in ascending order;
/// positions outside a row's range add exact zeros, so the tree of one (row, head) depends on its own range
/// only. Every position between the smallest begin and the largest end of the given rows must have been
/// written (finite), since rows share their passes. batch-invariant: yes. Source: Milakov & Gimelshein 2018;
/// Dao et al. 2022. Reference: double, two passes.
using AttentionFn = void(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                         std::size_t head_begin, std::size_t head_end);
AttentionFn attention_reference, attention_avx2, attention_avx512, attention_neon;

/// Rows that share one pass over the keys; splitting rows at multiples of this costs nothing.
inline constexpr std::size_t kAttentionRowTile = 8;

/// (row, query head) pairs of one kv head that share one pass over the keys.
inline constexpr std::size_t kAttentionPassQueries = 32;

/// Floats of scratch one thread needs for any number of rows and heads.
std::size_t attention_scratch_floats(std::size_t head_dim);

/// Writes rows x [rows, kv_heads, head_dim] (float) to positions [position, position + rows) of a block table
/// whose first block is first_block, converting to dtype (BF16: nearest even). Row results are independent.
void write_kv_rows(void* const* blocks, std::size_t first_block, DType dtype, const float* x,
                   std::size_t rows, std::size_t kv_heads, std::size_t head_dim, std::size_t position);

}  // namespace lanner::kernels
