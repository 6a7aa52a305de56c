// SPDX-License-Identifier: MIT
#include "kernels/attention/attention_int16.h"

#include <cassert>
#include <cstdint>
#include <span>

#include "kernels/attention/attention_reference.h"

namespace lanner::kernels {
namespace {

/// A row in integers of at most `code`.
struct Codes {
  std::array<std::int32_t, kMaxHeadDim> codes{};
  float scale = 0;
};

Codes divide(std::span<const float> row, float scale) {
  Codes to;
  for (std::size_t i = 0; i < row.size(); ++i)
    to.codes[i] = static_cast<std::int32_t>(std::nearbyint(row[i] * (1 / scale)));
  to.scale = scale;
  return to;
}

float largest_of(std::span<const float> row) {
  float largest = 0;
  for (const float x : row) largest = std::max(largest, std::abs(x));
  return largest;
}

/// By the smallest power of two that leaves no code above `code`.
Codes round_row(std::span<const float> row, int code) {
  const float largest = largest_of(row);
  if (largest <= kSmallestRow) return {};
  return divide(row, 1 / std::exp2(std::floor(std::log2(static_cast<float>(code) / largest))));
}

/// So that the largest becomes kInt16WeightCode.
Codes round_weights(std::span<const float> row) {
  const float largest = largest_of(row);
  if (largest <= kSmallestRow) return {};
  return divide(row, largest / static_cast<float>(kInt16WeightCode));
}

Codes round_position(const AttentionArgs& args, const KvReader& from, std::size_t position, int code) {
  std::array<float, kMaxHeadDim> row{};
  for (std::size_t i = 0; i < args.head_dim; ++i) row[i] = static_cast<float>(from.at(position, i));
  return round_row(std::span(row).first(args.head_dim), code);
}

/// Positions that a row attends inside a stretch.
struct Range {
  std::size_t begin;
  std::size_t end;
};
Range attended_positions(const AttentionArgs& args, std::size_t row, std::size_t begin, std::size_t end) {
  return {std::max(static_cast<std::size_t>(args.key_begin[row]), begin),
          std::min(static_cast<std::size_t>(args.key_end[row]), end)};
}

void attend_segment_in_codes(const AttentionArgs& args, std::size_t segment, std::size_t row,
                             std::size_t head, float* partial) {
  assert(args.head_dim <= kMaxHeadDim);
  const std::size_t kv_head = head / (args.q_heads / args.kv_heads);
  const KvReader keys(args, args.kv.keys, kv_head);
  const KvReader values(args, args.kv.values, kv_head);
  const int code = int16_score_code(args.head_dim);
  const Codes q = round_row({args.q + (row * args.q_heads + head) * args.head_dim, args.head_dim}, code);
  const std::size_t first = segment * kAttentionSegment;
  const Range all = attended_positions(args, row, first, first + kAttentionSegment);

  std::array<double, kAttentionSegment> scores{};
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t j = all.begin; j < all.end; ++j) {
    const Codes k = round_position(args, keys, j, code);
    std::int64_t dot = 0;
    for (std::size_t i = 0; i < args.head_dim; ++i) dot += q.codes[i] * k.codes[i];
    scores[j - first] = double(dot) * double(q.scale * args.scale) * double(k.scale);
    largest = std::max(largest, scores[j - first]);
  }

  std::array<double, kMaxHeadDim> sums{};
  double total = 0;
  for (std::size_t block = first; block < first + kAttentionSegment; block += kKvBlock) {
    const Range range = attended_positions(args, row, block, block + kKvBlock);
    std::array<Codes, kKvBlock> v;
    std::array<float, kKvBlock> shares{};
    for (std::size_t j = range.begin; j < range.end; ++j) {
      v[j - block] = round_position(args, values, j, kInt16WeightCode);
      const double weight = std::exp(scores[j - first] - largest);
      total += weight;
      shares[j - block] = static_cast<float>(weight * double(v[j - block].scale));
    }
    const Codes w = round_weights(shares);
    for (std::size_t i = 0; i < args.head_dim; ++i) {
      std::int64_t sum = 0;
      for (std::size_t j = 0; j < kKvBlock; ++j) sum += w.codes[j] * v[j].codes[i];
      sums[i] += double(sum) * double(w.scale);
    }
  }
  for (std::size_t i = 0; i < args.head_dim; ++i) partial[i] = float(sums[i]);
  partial[args.head_dim] = float(largest);
  partial[args.head_dim + 1] = float(total);
}

}  // namespace

void attention_int16_reference(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                               std::size_t head_begin, std::size_t head_end) {
  attend_rows(args, row_begin, row_end, head_begin, head_end, attend_segment_in_codes);
}

void attention_int16_segment_reference(const AttentionArgs& args, std::size_t row_begin, std::size_t row_end,
                                       std::size_t head_begin, std::size_t head_end) {
  attend_one_segment(args, row_begin, row_end, head_begin, head_end, attend_segment_in_codes);
}

}  // namespace lanner::kernels
