// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "guarded.h"
#include "kernels/attention/attention.h"
#include "random.h"

namespace lanner::test {

using namespace lanner::kernels;

/// Floats of scratch that an arithmetic of attention takes.
using ScratchFn = std::size_t(KvType type, std::size_t head_dim);

struct AttentionShape {
  std::size_t q_heads;
  std::size_t kv_heads;
  std::size_t head_dim;
};

/// Keys and values of positions [first_block * 64, end), the rest of the blocks NaN, and queries with ranges.
class AttentionProblem {
 public:
  AttentionProblem(AttentionShape shape, KvType type, std::size_t first_block, std::size_t end,
                   std::vector<std::int32_t> key_begin, std::vector<std::int32_t> key_end)
      : shape_(shape),
        type_(type),
        first_block_(first_block),
        key_begin_(std::move(key_begin)),
        key_end_(std::move(key_end)) {
    const std::size_t begin = first_block * kKvBlock;
    const std::size_t width = shape.kv_heads * shape.head_dim;
    const std::size_t blocks = (end - begin + kKvBlock - 1) / kKvBlock;
    const KvLayout layout{type, shape.head_dim};
    for (int side = 0; side < 2; ++side) {
      auto& memory = side == 0 ? key_memory_ : value_memory_;
      auto& pointers = side == 0 ? keys_ : values_;
      const std::size_t block_bytes = layout.side_bytes(shape.kv_heads);
      memory.assign(blocks * block_bytes, std::byte{0xff});  // NaN as float, bfloat16 and scale
      for (std::size_t b = 0; b < blocks; ++b) pointers.push_back(memory.data() + b * block_bytes);
      const auto x = random_normal((end - begin) * width, side == 0 ? 51 : 52);
      write_kv_rows(pointers.data(), first_block, layout, x.data(), end - begin, shape.kv_heads, begin);
    }
    q_ = random_normal(rows() * q_width(), 53);
  }

  std::size_t rows() const { return key_begin_.size(); }
  std::size_t q_width() const { return shape_.q_heads * shape_.head_dim; }

  AttentionArgs args(float* out, float* scratch) const {
    return {
        .q = q_.data(),
        .out = out,
        .rows = rows(),
        .q_heads = shape_.q_heads,
        .kv_heads = shape_.kv_heads,
        .head_dim = shape_.head_dim,
        .scale = 1 / std::sqrt(float(shape_.head_dim)),
        .kv = {.keys = keys_.data(), .values = values_.data(), .first_block = first_block_, .type = type_},
        .key_begin = key_begin_.data(),
        .key_end = key_end_.data(),
        .scratch = scratch};
  }

  /// Rows in tiles of `tile`, heads in parts of `heads`.
  std::vector<float> run(AttentionFn* attention, std::size_t tile, std::size_t heads,
                         ScratchFn* scratch_floats = attention_scratch_floats) const {
    std::vector<float> out(rows() * q_width());
    Guarded<float> scratch(scratch_floats(type_, shape_.head_dim));
    const AttentionArgs all = args(out.data(), scratch.data());
    for (std::size_t row = 0; row < rows(); row += tile)
      for (std::size_t head = 0; head < shape_.q_heads; head += heads)
        attention(all, row, std::min(row + tile, rows()), head, std::min(head + heads, shape_.q_heads));
    CHECK(scratch.guards_intact());
    return out;
  }

  /// Each segment by itself, the last first, then their sum.
  std::vector<float> run_split(AttentionFn* segment, AttentionFn* merge,
                               ScratchFn* scratch_floats = attention_scratch_floats) const {
    std::vector<float> out(rows() * q_width());
    std::vector<float> scratch(scratch_floats(type_, shape_.head_dim));
    AttentionArgs all = args(out.data(), scratch.data());
    const auto first = static_cast<std::size_t>(std::ranges::min(key_begin_)) / kAttentionSegment;
    const auto last = static_cast<std::size_t>(std::ranges::max(key_end_) - 1) / kAttentionSegment;
    Guarded<float> partials((last - first + 1) * rows() * shape_.q_heads *
                            (shape_.head_dim + kAttentionPartialExtra));
    all.partials = {.memory = partials.data(), .first_segment = first, .segments = last - first + 1};
    for (all.segment = last + 1; all.segment-- > first;) segment(all, 0, rows(), 0, shape_.q_heads);
    merge(all, 0, rows(), 0, shape_.q_heads);
    CHECK(partials.guards_intact());
    return out;
  }

 private:
  AttentionShape shape_;
  KvType type_;
  std::size_t first_block_;
  std::vector<std::int32_t> key_begin_;
  std::vector<std::int32_t> key_end_;
  std::vector<std::byte> key_memory_;
  std::vector<std::byte> value_memory_;
  std::vector<void*> keys_;
  std::vector<void*> values_;
  std::vector<float> q_;
};

/// Rows at positions [first, first + rows), each attending its last `window` positions.
inline AttentionProblem causal(AttentionShape shape, KvType type, std::size_t first_block, std::int32_t first,
                               std::int32_t rows, std::int32_t window) {
  std::vector<std::int32_t> begin;
  std::vector<std::int32_t> end;
  for (std::int32_t row = 0; row < rows; ++row) {
    end.push_back(first + row + 1);
    begin.push_back(std::max(static_cast<std::int32_t>(first_block * kKvBlock), first + row + 1 - window));
  }
  return AttentionProblem(shape, type, first_block, static_cast<std::size_t>(first + rows), begin, end);
}

inline constexpr std::int32_t kFull = 1 << 30;
inline constexpr KvType kTypes[] = {KvType::kF32, KvType::kBF16, KvType::kAffine8, KvType::kAffine6,
                                    KvType::kAffine4};

}  // namespace lanner::test
