// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/attention/attention.h"

// What the references of float and integer attention share: reading keys and values, segments and their sum.
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

/// Where args.partials keeps a segment of a row and head.
inline float* partial_of(const AttentionArgs& args, std::size_t segment, std::size_t row, std::size_t head) {
  const std::size_t index = ((segment - args.partials.first_segment) * args.rows + row) * args.q_heads + head;
  return args.partials.memory + index * (args.head_dim + kAttentionPartialExtra);
}

struct Merged {
  double largest = -std::numeric_limits<double>::infinity();
  double total = 0;
};

inline void merge(const AttentionArgs& args, float* out, Merged& merged, const float* partial) {
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

inline void divide(const AttentionArgs& args, float* out, double total) {
  for (std::size_t i = 0; i < args.head_dim; ++i) out[i] = float(double(out[i]) / total);
}

inline float* out_of(const AttentionArgs& args, std::size_t row, std::size_t head) {
  return args.out + (row * args.q_heads + head) * args.head_dim;
}

/// Fills the partial of one segment for one row and head.
using SegmentFn = void(const AttentionArgs& args, std::size_t segment, std::size_t row, std::size_t head,
                       float* partial);

inline void attend(const AttentionArgs& args, std::size_t row, std::size_t head, SegmentFn* attend_segment) {
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

inline void attend_rows(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                        std::size_t head_begin, std::size_t head_end, SegmentFn* attend_segment) {
  for (std::size_t row = row_begin; row < row_end; ++row)
    for (std::size_t head = head_begin; head < head_end; ++head) attend(args, row, head, attend_segment);
}

inline void attend_one_segment(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                               std::size_t head_begin, std::size_t head_end, SegmentFn* attend_segment) {
  for (std::size_t row = row_begin; row < row_end; ++row)
    for (std::size_t head = head_begin; head < head_end; ++head)
      attend_segment(args, args.segment, row, head, partial_of(args, args.segment, row, head));
}

}  // namespace
}  // namespace lanner::kernels
