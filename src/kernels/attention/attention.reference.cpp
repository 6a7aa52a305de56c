// SPDX-License-Identifier: MIT
#include "kernels/attention/attention.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

#include "core/float_convert.h"

namespace lanner::kernels {
namespace {

// Element `index` of position `position` of one kv head, widened.
class KvReader {
 public:
  KvReader(const AttentionArgs& args, const void* const* blocks, std::size_t kv_head)
      : args_(args), blocks_(blocks), kv_head_(kv_head) {}

  double at(std::size_t position, std::size_t index) const {
    const void* block = blocks_[position / kKvBlock - args_.kv.first_block];
    const std::size_t element = (kv_head_ * kKvBlock + position % kKvBlock) * args_.head_dim + index;
    if (args_.kv.dtype == DType::kBF16)
      return double(bf16_to_float(static_cast<const std::uint16_t*>(block)[element]));
    return double(static_cast<const float*>(block)[element]);
  }

 private:
  const AttentionArgs& args_;
  const void* const* blocks_;
  std::size_t kv_head_;
};

double score(const AttentionArgs& args, const KvReader& keys, const float* q, std::size_t position) {
  double dot = 0;
  for (std::size_t i = 0; i < args.head_dim; ++i) dot += double(q[i]) * keys.at(position, i);
  return dot * double(args.scale);
}

// Two passes: the largest score first, then weights and output. Scores are recomputed, not stored; one output
// element at a time keeps the sum in double without memory for a row of them.
void attend(const AttentionArgs& args, std::size_t row, std::size_t head) {
  const std::size_t kv_head = head / (args.q_heads / args.kv_heads);
  const KvReader keys(args, args.kv.keys, kv_head);
  const KvReader values(args, args.kv.values, kv_head);
  const std::size_t offset = (row * args.q_heads + head) * args.head_dim;
  const auto begin = static_cast<std::size_t>(args.key_begin[row]);
  const auto end = static_cast<std::size_t>(args.key_end[row]);

  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t j = begin; j < end; ++j)
    largest = std::max(largest, score(args, keys, args.q + offset, j));

  assert(args.head_dim <= kMaxHeadDim);
  std::array<double, kMaxHeadDim> sums{};
  double total = 0;
  for (std::size_t j = begin; j < end; ++j) {
    const double weight = std::exp(score(args, keys, args.q + offset, j) - largest);
    total += weight;
    for (std::size_t i = 0; i < args.head_dim; ++i) sums[i] += weight * values.at(j, i);
  }
  for (std::size_t i = 0; i < args.head_dim; ++i) args.out[offset + i] = float(sums[i] / total);
}

}  // namespace

void attention_reference(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                         std::size_t head_begin, std::size_t head_end) {
  for (std::size_t row = row_begin; row < row_end; ++row)
    for (std::size_t head = head_begin; head < head_end; ++head) attend(args, row, head);
}

}  // namespace lanner::kernels
