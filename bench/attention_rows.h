// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/attention/attention_int16.h"
#include "ramp.h"

namespace lanner::bench {

/// Rows at the end of a context of bf16 keys and values; 4 query heads read one kv head of 256 (Qwen 3.5 4B).
class AttentionRows {
 public:
  static constexpr std::size_t kHeads = 4;
  static constexpr std::size_t kDim = 256;

  AttentionRows(std::size_t rows, std::size_t context)
      : blocks_((context + kernels::kKvBlock - 1) / kernels::kKvBlock),
        keys_(blocks_ * kBlock, 0x3c00),
        values_(blocks_ * kBlock, 0x3f00),
        q_(ramp(rows * kHeads * kDim)),
        out_(q_.size()),
        begin_(rows, 0),
        scratch_(std::max(kernels::attention_scratch_floats(kernels::KvType::kBF16, kDim),
                          kernels::attention_int16_scratch_floats(kernels::KvType::kBF16, kDim))) {
    for (std::size_t block = 0; block < blocks_; ++block) {
      key_blocks_.push_back(keys_.data() + block * kBlock);
      value_blocks_.push_back(values_.data() + block * kBlock);
    }
    for (std::size_t row = 0; row < rows; ++row)
      end_.push_back(static_cast<std::int32_t>(context - rows + row + 1));
  }

  kernels::AttentionArgs args() {
    return {.q = q_.data(),
            .out = out_.data(),
            .rows = begin_.size(),
            .q_heads = kHeads,
            .kv_heads = 1,
            .head_dim = kDim,
            .scale = 1.0F / 16,
            .kv = {.keys = key_blocks_.data(),
                   .values = value_blocks_.data(),
                   .first_block = 0,
                   .type = kernels::KvType::kBF16},
            .key_begin = begin_.data(),
            .key_end = end_.data(),
            .scratch = scratch_.data()};
  }

 private:
  static constexpr std::size_t kBlock = kernels::kKvBlock * kDim;

  std::size_t blocks_;
  std::vector<std::uint16_t> keys_, values_;
  std::vector<const void*> key_blocks_, value_blocks_;
  std::vector<float> q_, out_;
  std::vector<std::int32_t> begin_, end_;
  std::vector<float> scratch_;
};

}  // namespace lanner::bench
