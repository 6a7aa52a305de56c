// SPDX-License-Identifier: MIT
#include <algorithm>

#include "core/float_convert.h"
#include "kernels/attention/attention.h"

namespace lanner::kernels {

// Per query of a pass: 64 scores, the running maximum and the running sum.
std::size_t attention_scratch_floats(std::size_t /*head_dim*/) {
  return kAttentionPassQueries * (kKvBlock + 2);
}

void write_kv_rows(void* const* blocks, std::size_t first_block, DType dtype, const float* x,
                   std::size_t rows, std::size_t kv_heads, std::size_t head_dim, std::size_t position) {
  for (std::size_t row = 0; row < rows; ++row) {
    void* block = blocks[(position + row) / kKvBlock - first_block];
    const std::size_t place = (position + row) % kKvBlock;
    for (std::size_t head = 0; head < kv_heads; ++head) {
      const float* from = x + (row * kv_heads + head) * head_dim;
      const std::size_t to = (head * kKvBlock + place) * head_dim;
      if (dtype == DType::kBF16)
        std::transform(from, from + head_dim, static_cast<std::uint16_t*>(block) + to, float_to_bf16);
      else
        std::copy_n(from, head_dim, static_cast<float*>(block) + to);
    }
  }
}

}  // namespace lanner::kernels
