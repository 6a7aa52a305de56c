// SPDX-License-Identifier: MIT
#include "kernels/attention/attention_int16.simd.h"

namespace lanner::kernels {

// Fast because: products of pairs of 16-bit integers are twice those of floats; queries lie in the lanes for
// scores and columns of values for sums, so no sum crosses lanes; up to 128 (row, head) pairs share the
// rounding of a block.
void attention_int16_avx2(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                          std::size_t head_begin, std::size_t head_end) {
  attend_rows<Int16Block, kInt16PassQueries>(args, row_begin, row_end, head_begin, head_end,
                                             WholeAttention{});
}

void attention_int16_segment_avx2(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                                  std::size_t head_begin, std::size_t head_end) {
  attend_rows<Int16Block, kInt16PassQueries>(args, row_begin, row_end, head_begin, head_end, OneSegment{});
}

}  // namespace lanner::kernels
