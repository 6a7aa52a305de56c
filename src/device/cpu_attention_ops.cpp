// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include "device/cpu_op_functions.h"
#include "device/shape_check.h"

namespace lanner::device::cpu {
namespace {

using kernels::AttentionArgs;
using kernels::kAttentionSegment;

// Below so many rows, sharing keys among them is worth more than threads that are all busy.
constexpr std::size_t kSmallTile = 8;

/// Rows that share one pass over the keys when an item of work takes all heads of a group.
std::size_t row_tile(const AttentionKernels& kernels, std::size_t group) {
  return std::max<std::size_t>(1, kernels.pass_queries / group);
}

std::size_t row_tiles(std::size_t rows, std::size_t tile) { return (rows + tile - 1) / tile; }

/// The segments of the keys that different threads take.
struct Split {
  std::size_t first = 0;
  std::size_t count = 0;  ///< 0: every thread goes through all keys of its rows
};

/// Of one of `calls` calls: for a few rows over many keys.
Split split_of(const AttentionCall& call, std::size_t calls, std::size_t threads) {
  const auto first = static_cast<std::size_t>(std::ranges::min(call.key_begin)) / kAttentionSegment;
  const auto last = static_cast<std::size_t>(std::ranges::max(call.key_end) - 1) / kAttentionSegment;
  const std::size_t tiles = row_tiles(static_cast<std::size_t>(call.q.shape[0]), kSmallTile);
  const bool few_items = tiles * call.kv_heads * calls < 2 * threads;
  return threads > 1 && few_items && last > first ? Split{first, last - first + 1} : Split{};
}

/// One call as the kernels take it, and the gates behind it.
struct Attention {
  AttentionArgs args;
  const float* gate = nullptr;
  std::size_t gate_head = 0;

  /// Multiplies outputs of rows [row_begin, row_end) and heads [head_begin, head_end) by their gates, if any.
  void apply_gates(const CpuKernels& kernels, std::size_t row_begin, std::size_t row_end,
                   std::size_t head_begin, std::size_t head_end) const {
    if (gate == nullptr) return;
    for (std::size_t row = row_begin; row < row_end; ++row)
      for (std::size_t head = head_begin; head < head_end; ++head) {
        const std::size_t index = row * args.q_heads + head;
        const std::span<float> out(args.out + index * args.head_dim, args.head_dim);
        kernels.sigmoid_mul(out, out, {gate + index * gate_head, args.head_dim});
      }
  }
};

/// One item of work: a tile of rows times some of the query heads that share a key head.
class Items {
 public:
  /// As large as a pass allows, but smaller, first in rows and then in heads, where there would be fewer than
  /// `wanted` items; `others` multiplies with their number.
  Items(const AttentionArgs& args, const AttentionKernels& kernels, std::size_t others, std::size_t wanted)
      : args_(args), group_(args.q_heads / args.kv_heads), tile_(row_tile(kernels, group_)), heads_(group_) {
    others *= args.kv_heads;
    while (tile_ > kSmallTile && row_tiles(args.rows, tile_) * others < wanted) tile_ /= 2;
    others *= row_tiles(args.rows, tile_);
    const std::size_t parts = std::min(group_, (wanted + others - 1) / others);
    heads_ = (group_ + parts - 1) / parts;
    parts_ = (group_ + heads_ - 1) / heads_;
  }

  std::size_t count() const { return row_tiles(args_.rows, tile_) * args_.kv_heads * parts_; }

  /// Calls body(row_begin, row_end, head_begin, head_end) for an item's rows and query heads.
  template <typename Body>
  void visit(std::size_t item, Body&& body) const {
    const std::size_t row = item / (args_.kv_heads * parts_) * tile_;
    const std::size_t kv_head = item / parts_ % args_.kv_heads;
    const std::size_t head = item % parts_ * heads_;
    body(row, std::min(args_.rows, row + tile_), kv_head * group_ + head,
         kv_head * group_ + std::min(group_, head + heads_));
  }

 private:
  const AttentionArgs& args_;
  std::size_t group_;
  std::size_t tile_;
  std::size_t heads_;
  std::size_t parts_ = 1;
};

/// Calls side by side, none of them split along its keys.
void attend_whole(Stream& stream, const AttentionKernels& kernels, std::span<const Attention> calls) {
  // Two items a thread, so that a thread that is late does not leave the others waiting for a whole item.
  const std::size_t wanted = 2 * static_cast<std::size_t>(stream.pool().threads());
  std::vector<Items> items;
  std::vector<std::size_t> first;  // item at which each call begins
  std::size_t count = 0;
  for (const Attention& call : calls) {
    items.emplace_back(call.args, kernels, calls.size(), wanted);
    first.push_back(count);
    count += items.back().count();
  }
  stream.pool().each(count, [&](std::size_t item, int thread) {
    const auto call = static_cast<std::size_t>(std::ranges::upper_bound(first, item) - first.begin()) - 1;
    AttentionArgs mine = calls[call].args;
    mine.scratch = stream.scratch(thread, kernels.scratch_floats(mine.kv.type, mine.head_dim));
    items[call].visit(item - first[call], [&](auto... part) {
      kernels.whole(mine, part...);
      calls[call].apply_gates(stream.kernels(), part...);
    });
  });
}

/// Segments of the keys on different threads, then their sum.
void attend_split(Stream& stream, const AttentionKernels& kernels, const Attention& call, const Split& split,
                  std::size_t scratch_bytes) {
  AttentionArgs args = call.args;
  args.partials = {.memory = reinterpret_cast<float*>(stream.shared_scratch(scratch_bytes)),
                   .first_segment = split.first,
                   .segments = split.count};
  const Items items(args, kernels, split.count, static_cast<std::size_t>(stream.pool().threads()));
  stream.pool().each(split.count * items.count(), [&](std::size_t item, int thread) {
    AttentionArgs mine = args;
    mine.segment = split.first + item / items.count();
    mine.scratch = stream.scratch(thread, kernels.scratch_floats(args.kv.type, args.head_dim));
    items.visit(item % items.count(), [&](auto... part) { kernels.segment(mine, part...); });
  });
  stream.pool().each(args.q_heads, [&](std::size_t head, int) {
    kernels.merge(args, 0, args.rows, head, head + 1);
    call.apply_gates(stream.kernels(), 0, args.rows, head, head + 1);
  });
}

}  // namespace

void write_kv(Stream& /*stream*/, std::span<const KvWrite> writes) {
  for (const KvWrite& write : writes) {
    check_shape(write.x.shape.rank() == 3, "write_kv", write.x);
    const auto rows = static_cast<std::size_t>(write.x.shape[0]);
    check_shape((write.position + rows + kernels::kKvBlock - 1) / kernels::kKvBlock <=
                    write.first_block + write.blocks.size(),
                "write_kv", write.x);
    kernels::write_kv_rows(write.blocks.data(), write.first_block, {write.type, write.x.columns()},
                           write.x.floats().data(), rows, static_cast<std::size_t>(write.x.shape[1]),
                           write.position);
  }
}

namespace {

AttentionArgs checked_args(const AttentionCall& call) {
  const auto rows = static_cast<std::size_t>(call.q.shape[0]);
  const auto q_heads = static_cast<std::size_t>(call.q.shape[1]);
  check_shape(call.out.shape == call.q.shape && q_heads % call.kv_heads == 0, "attention", call.q);
  check_shape(call.key_begin.size() == rows && call.key_end.size() == rows, "attention", call.q);
  return {
      .q = call.q.floats().data(),
      .out = call.out.floats().data(),
      .rows = rows,
      .q_heads = q_heads,
      .kv_heads = call.kv_heads,
      .head_dim = call.q.columns(),
      .scale = call.scale,
      .kv = {.keys = call.kv.keys.data(),
             .values = call.kv.values.data(),
             .first_block = call.kv.first_block,
             .type = call.kv.type},
      .key_begin = call.key_begin.data(),
      .key_end = call.key_end.data(),
  };
}

void attend(Stream& stream, const AttentionKernels& kernels, std::span<const AttentionCall> calls) {
  const auto threads = static_cast<std::size_t>(stream.pool().threads());
  std::vector<Attention> whole;
  for (const AttentionCall& call : calls) {
    const Attention checked{checked_args(call), call.gate, call.gate_head};
    const Split split = split_of(call, calls.size(), threads);
    if (split.count > 0)
      attend_split(stream, kernels, checked, split,
                   attention_scratch(kernels, call, calls.size(), threads).shared_bytes);
    else
      whole.push_back(checked);
  }
  if (!whole.empty()) attend_whole(stream, kernels, whole);
}

}  // namespace

AttentionScratch attention_scratch(const AttentionKernels& kernels, const AttentionCall& call,
                                   std::size_t calls, std::size_t threads) {
  const std::size_t partial_floats = static_cast<std::size_t>(call.q.element_count()) / call.q.columns() *
                                     (call.q.columns() + kernels::kAttentionPartialExtra);
  return {.shared_bytes = split_of(call, calls, threads).count * partial_floats * sizeof(float),
          .thread_floats = kernels.scratch_floats(call.kv.type, call.q.columns())};
}

void attention(Stream& stream, std::span<const AttentionCall> calls) {
  attend(stream, stream.kernels().attention, calls);
}

void attention_int16(Stream& stream, std::span<const AttentionCall> calls) {
  attend(stream, stream.kernels().attention_int16, calls);
}

}  // namespace lanner::device::cpu
