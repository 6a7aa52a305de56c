// SPDX-License-Identifier: MIT
#include "kernels/attention/attention.h"
#include "kernels/attention/attention_int16.h"

namespace lanner::kernels {
namespace {

/// Quantized keys or values of one block, widened.
std::size_t widened_floats(KvType type, std::size_t head_dim) {
  return code_bits(type) == 0 ? 0 : kKvBlock * head_dim;
}

}  // namespace

std::size_t attention_scratch_floats(KvType type, std::size_t head_dim) {
  return attention_pass_floats(kAttentionPassQueries, head_dim) + kAttentionPassQueries * kKvBlock +
         widened_floats(type, head_dim);
}

std::size_t attention_int16_scratch_floats(KvType type, std::size_t head_dim) {
  const Int16Sizes sizes(head_dim);
  return attention_pass_floats(kInt16PassQueries, head_dim) + sizes.floats() + widened_floats(type, head_dim);
}

}  // namespace lanner::kernels
