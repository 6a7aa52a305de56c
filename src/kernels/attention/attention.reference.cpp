// SPDX-License-Identifier: MIT
#include "kernels/attention/attention.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

namespace lanner::kernels {
namespace {

class KvReader {
 public:
  KvReader(const AttentionArgs& args, const void* const* blocks, std::size_t kv_head)
      : layout_{args.kv.type, args.head_dim},
        blocks_(blocks),
        first_block_(args.kv.first_block),
        head_offset_(kv_head * layout_.head_bytes()) {}

  double at(std::size_t position, std::size_t index) const {
    const auto* block = static_cast<const std::byte*>(blocks_[position / kKvBlock - first_block_]);
    return double(kv_element(layout_, block + head_offset_, position % kKvBlock, index));
  }

 private:
  KvLayout layout_;
  const void* const* blocks_;
  std::size_t first_block_;
  std::size_t head_offset_;
};

double score(const AttentionArgs& args, const KvReader& keys, const float* q, std::size_t position) {
  double dot = 0;
  for (std::size_t i = 0; i < args.head_dim; ++i) dot += double(q[i]) * keys.at(position, i);
  return dot * double(args.scale);
}

/// Where args.partials keeps a segment of a row and head.
float* partial_of(const AttentionArgs& args, std::size_t segment, std::size_t row, std::size_t head) {
  const std::size_t index = ((segment - args.partials.first_segment) * args.rows + row) * args.q_heads + head;
  return args.partials.memory + index * (args.head_dim + kAttentionPartialExtra);
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

struct Merged {
  double largest = -std::numeric_limits<double>::infinity();
  double total = 0;
};

void merge(const AttentionArgs& args, float* out, Merged& merged, const float* partial) {
  const double largest = double(partial[args.head_dim]);
  const double total = double(partial[args.head_dim + 1]);
  if (total == 0) return;  // nothing of the segment is attended
  const double now = std::max(merged.largest, largest);
  const double before = std::exp(merged.largest - now);
  const double added = std::exp(largest - now);
  for (std::size_t i = 0; i < args.head_dim; ++i)
    out[i] = float(double(out[i]) * before + double(partial[i]) * added);
  merged.total = merged.total * before + total * added;
  merged.largest = now;
}

void divide(const AttentionArgs& args, float* out, double total) {
  for (std::size_t i = 0; i < args.head_dim; ++i) out[i] = float(double(out[i]) / total);
}

float* out_of(const AttentionArgs& args, std::size_t row, std::size_t head) {
  return args.out + (row * args.q_heads + head) * args.head_dim;
}

void attend(const AttentionArgs& args, std::size_t row, std::size_t head) {
  float* out = out_of(args, row, head);
  std::fill_n(out, args.head_dim, 0.0F);
  Merged merged;
  const std::size_t first = static_cast<std::size_t>(args.key_begin[row]) / kAttentionSegment;
  const std::size_t last = static_cast<std::size_t>(args.key_end[row] - 1) / kAttentionSegment;
  for (std::size_t segment = first; segment <= last; ++segment) {
    std::array<float, kMaxHeadDim + kAttentionPartialExtra> partial;
    attend_segment(args, segment, row, head, partial.data());
    merge(args, out, merged, partial.data());
  }
  divide(args, out, merged.total);
}

}  // namespace

void attention_reference(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                         std::size_t head_begin, std::size_t head_end) {
  for (std::size_t row = row_begin; row < row_end; ++row)
    for (std::size_t head = head_begin; head < head_end; ++head) attend(args, row, head);
}

void attention_segment_reference(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                                 std::size_t head_begin, std::size_t head_end) {
  for (std::size_t row = row_begin; row < row_end; ++row)
    for (std::size_t head = head_begin; head < head_end; ++head)
      attend_segment(args, args.segment, row, head, partial_of(args, args.segment, row, head));
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
