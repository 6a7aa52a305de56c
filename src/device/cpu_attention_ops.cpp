// SPDX-License-Identifier: MIT
#include <algorithm>

#include "device/cpu_op_functions.h"
#include "device/shape_check.h"

namespace lanner::device::cpu {

void write_kv(Stream& /*stream*/, std::span<const KvWrite> writes) {
  for (const KvWrite& write : writes) {
    check_shape(write.x.shape.rank() == 3, "write_kv", write.x);
    const auto rows = static_cast<std::size_t>(write.x.shape[0]);
    check_shape((write.position + rows + kernels::kKvBlock - 1) / kernels::kKvBlock <=
                    write.first_block + write.blocks.size(),
                "write_kv", write.x);
    kernels::write_kv_rows(write.blocks.data(), write.first_block, write.dtype, write.x.floats().data(), rows,
                           static_cast<std::size_t>(write.x.shape[1]), write.x.columns(), write.position);
  }
}

namespace {

void attend(Stream& stream, const AttentionCall& call) {
  const auto rows = static_cast<std::size_t>(call.q.shape[0]);
  const auto q_heads = static_cast<std::size_t>(call.q.shape[1]);
  const std::size_t head_dim = call.q.columns();
  check_shape(call.out.shape == call.q.shape && q_heads % call.kv_heads == 0, "attention", call.q);
  check_shape(call.key_begin.size() == rows && call.key_end.size() == rows, "attention", call.q);
  const kernels::AttentionArgs args = {
      .q = call.q.floats().data(),
      .out = call.out.floats().data(),
      .rows = rows,
      .q_heads = q_heads,
      .kv_heads = call.kv_heads,
      .head_dim = head_dim,
      .scale = call.scale,
      .kv = {.keys = call.kv.keys.data(),
             .values = call.kv.values.data(),
             .first_block = call.kv.first_block,
             .dtype = call.kv.dtype},
      .key_begin = call.key_begin.data(),
      .key_end = call.key_end.data(),
  };
  // An item is a tile of rows times the query heads that share a key head; with few items, one query head
  // each.
  const std::size_t tiles = (rows + kernels::kAttentionRowTile - 1) / kernels::kAttentionRowTile;
  const auto threads = static_cast<std::size_t>(stream.pool().threads());
  const std::size_t heads_per_item = tiles * call.kv_heads >= 2 * threads ? q_heads / call.kv_heads : 1;
  const std::size_t head_items = q_heads / heads_per_item;
  stream.pool().each(tiles * head_items, [&](std::size_t item, int thread) {
    const std::size_t row_begin = item / head_items * kernels::kAttentionRowTile;
    const std::size_t row_end = std::min(rows, row_begin + kernels::kAttentionRowTile);
    const std::size_t head_begin = item % head_items * heads_per_item;
    kernels::AttentionArgs mine = args;
    mine.scratch = stream.scratch(thread, kernels::attention_scratch_floats(head_dim));
    stream.kernels().attention(mine, row_begin, row_end, head_begin, head_begin + heads_per_item);
  });
}

}  // namespace

void attention(Stream& stream, std::span<const AttentionCall> calls) {
  for (const AttentionCall& call : calls) attend(stream, call);
}

}  // namespace lanner::device::cpu
