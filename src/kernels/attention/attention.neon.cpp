// SPDX-License-Identifier: MIT
#include "kernels/attention/attention.simd.h"

namespace lanner::kernels {

// Fast because: up to 32 (row, head) pairs share each pass over a block of keys and values, in tiles of sums
// that fill the registers; scores never leave the first-level cache, and quantized blocks are widened once a
// pass.
void attention_neon(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                    std::size_t head_begin, std::size_t head_end) {
  attend_rows<FloatBlock, kAttentionPassQueries>(args, row_begin, row_end, head_begin, head_end,
                                                 WholeAttention{});
}

void attention_segment_neon(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                            std::size_t head_begin, std::size_t head_end) {
  attend_rows<FloatBlock, kAttentionPassQueries>(args, row_begin, row_end, head_begin, head_end,
                                                 OneSegment{});
}

void attention_merge_neon(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                          std::size_t head_begin, std::size_t head_end) {
  merge_rows(args, row_begin, row_end, head_begin, head_end);
}

}  // namespace lanner::kernels
