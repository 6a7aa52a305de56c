// SPDX-License-Identifier: MIT
#include "kernels/attention/attention.h"

namespace lanner::kernels {

// Per query of a pass: 64 scores, the running maximum and sum of the segment and of all before it, and the
// segment's sums of values. Quantized keys or values of one block are widened at the end.
std::size_t attention_scratch_floats(KvType type, std::size_t head_dim) {
  const std::size_t queries = kAttentionPassQueries * (kKvBlock + 4 + head_dim);
  return queries + (code_bits(type) == 0 ? 0 : kKvBlock * head_dim);
}

}  // namespace lanner::kernels
