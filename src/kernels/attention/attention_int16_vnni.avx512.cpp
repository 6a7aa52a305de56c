// SPDX-License-Identifier: MIT
#include "kernels/attention/attention_int16.simd.h"

namespace lanner::kernels {

// As attention_int16.avx512.cpp, with one instruction a product in place of two.
void attention_int16_vnni(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                          std::size_t head_begin, std::size_t head_end) {
  attend_rows<Int16Block, kInt16PassQueries>(args, row_begin, row_end, head_begin, head_end,
                                             WholeAttention{});
}

void attention_int16_segment_vnni(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                                  std::size_t head_begin, std::size_t head_end) {
  attend_rows<Int16Block, kInt16PassQueries>(args, row_begin, row_end, head_begin, head_end, OneSegment{});
}

}  // namespace lanner::kernels
