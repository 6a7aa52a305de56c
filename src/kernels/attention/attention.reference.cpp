// SPDX-License-Identifier: MIT
#include <cassert>

#include "kernels/attention/attention_reference.h"

namespace lanner::kernels {
namespace {

double score(const AttentionArgs& args, const KvReader& keys, const float* q, std::size_t position) {
  double dot = 0;
  for (std::size_t i = 0; i < args.head_dim; ++i) dot += double(q[i]) * keys.at(position, i);
  return dot * double(args.scale);
}

// Two passes: the largest score first, then weights and sums. Scores are recomputed, not stored; one output
// element at a time keeps the sum in double without memory for a row of them.
void attend_segment(const AttentionArgs& args, std::size_t segment, std::size_t row, std::size_t head,
                    float* partial) {
  const std::size_t kv_head = head / (args.q_heads / args.kv_heads);
  const KvReader keys(args, args.kv.keys, kv_head);
  const KvReader values(args, args.kv.values, kv_head);
  const float* q = args.q + (row * args.q_heads + head) * args.head_dim;
  const std::size_t begin =
      std::max(static_cast<std::size_t>(args.key_begin[row]), segment * kAttentionSegment);
  const std::size_t end =
      std::min(static_cast<std::size_t>(args.key_end[row]), (segment + 1) * kAttentionSegment);

  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t j = begin; j < end; ++j) largest = std::max(largest, score(args, keys, q, j));

  assert(args.head_dim <= kMaxHeadDim);
  std::array<double, kMaxHeadDim> sums{};
  double total = 0;
  for (std::size_t j = begin; j < end; ++j) {
    const double weight = std::exp(score(args, keys, q, j) - largest);
    total += weight;
    for (std::size_t i = 0; i < args.head_dim; ++i) sums[i] += weight * values.at(j, i);
  }
  for (std::size_t i = 0; i < args.head_dim; ++i) partial[i] = float(sums[i]);
  partial[args.head_dim] = float(largest);
  partial[args.head_dim + 1] = float(total);
}

}  // namespace

void attention_reference(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                         std::size_t head_begin, std::size_t head_end) {
  attend_rows(args, row_begin, row_end, head_begin, head_end, attend_segment);
}

void attention_segment_reference(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                                 std::size_t head_begin, std::size_t head_end) {
  attend_one_segment(args, row_begin, row_end, head_begin, head_end, attend_segment);
}

void attention_merge_reference(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                               std::size_t head_begin, std::size_t head_end) {
  for (std::size_t row = row_begin; row < row_end; ++row)
    for (std::size_t head = head_begin; head < head_end; ++head) {
      float* out = out_of(args, row, head);
      std::fill_n(out, args.head_dim, 0.0F);
      Merged merged;
      for (std::size_t s = 0; s < args.partials.segments; ++s)
        merge(args, out, merged, partial_of(args, args.partials.first_segment + s, row, head));
      divide(args, out, merged.total);
    }
}

}  // namespace lanner::kernels
