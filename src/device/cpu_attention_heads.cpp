// SPDX-License-Identifier: MIT
#include <algorithm>

#include "device/cpu_norm.h"
#include "device/cpu_op_functions.h"
#include "device/shape_check.h"

namespace lanner::device::cpu {
namespace {

// Below this many floats waking the workers costs more than it saves.
constexpr std::size_t kHeadGrain = 16384;

void check(const AttentionHeads& heads) {
  const auto rows = static_cast<std::size_t>(heads.q_out.shape[0]);
  check_shape(heads.q_out.shape.rank() == 3 && heads.q_out.columns() == heads.rope.head_dim,
              "attention_heads", heads.q_out);
  check_shape(heads.rope.frequencies == 0 || (heads.cos.rows() == rows && heads.sin.rows() == rows &&
                                              heads.cos.columns() == heads.rope.frequencies),
              "attention_heads", heads.cos);
  std::size_t written = 0;
  for (std::size_t i = 0; i < heads.writes.size(); i += 2) {
    const KvWrite& write = heads.writes[i];
    const auto count = static_cast<std::size_t>(write.x.shape[0]);
    written += count;
    check_shape((write.position + count + kKvBlock - 1) / kKvBlock <= write.first_block + write.blocks.size(),
                "attention_heads", write.x);
  }
  if (heads.k.data == nullptr) return check_shape(written == 0, "attention_heads", heads.q_out);
  check_shape(written == rows && heads.k.shape == heads.v.shape && heads.k.columns() == heads.rope.head_dim,
              "attention_heads", heads.k);
}

/// Rows of one operation.
class HeadRows {
 public:
  HeadRows(const CpuKernels& kernels, const AttentionHeads& heads) : kernels_(kernels), heads_(heads) {}

  void form_query(std::size_t row) const {
    const std::size_t dim = heads_.q_out.columns();
    const auto count = static_cast<std::size_t>(heads_.q_out.shape[1]);
    const auto out = heads_.q_out.floats().subspan(row * count * dim, count * dim);
    for (std::size_t head = 0; head < count; ++head)
      rms_norm_rows(kernels_, out.subspan(head * dim, dim),
                    {heads_.q + row * heads_.q_row + head * heads_.q_head, dim}, dim, heads_.q_gain,
                    heads_.q_eps);
    rotate(out, row, count);
  }

  /// Row `row` is row `index` of its group. formed: the floats of all heads of a key.
  void store_key(std::size_t row, const KvWrite& write, std::size_t index, std::span<float> formed) const {
    rms_norm_rows(kernels_, formed, row_of(heads_.k, row), heads_.k.columns(), heads_.k_gain, heads_.k_eps);
    rotate(formed, row, static_cast<std::size_t>(heads_.k.shape[1]));
    store(write, index, formed.data());
  }

  void store_value(std::size_t row, const KvWrite& write, std::size_t index, std::span<float> formed) const {
    const std::span<const float> x = row_of(heads_.v, row);
    if (!heads_.norm_values) return store(write, index, x.data());
    rms_norm_rows(kernels_, formed, x, heads_.v.columns(), {}, heads_.v_eps);
    store(write, index, formed.data());
  }

 private:
  static std::span<const float> row_of(const Tensor& x, std::size_t row) {
    const std::size_t width = static_cast<std::size_t>(x.shape[1]) * x.columns();
    return x.floats().subspan(row * width, width);
  }

  void rotate(std::span<float> x, std::size_t row, std::size_t count) const {
    const RopeShape& rope = heads_.rope;
    if (rope.frequencies == 0) return;
    kernels_.rope(x, heads_.cos.row(row), heads_.sin.row(row),
                  {.heads = count,
                   .head_dim = rope.head_dim,
                   .frequencies = rope.frequencies,
                   .pair_offset = rope.pair_offset});
  }

  static void store(const KvWrite& write, std::size_t index, const float* x) {
    kernels::write_kv_rows(write.blocks.data(), write.first_block, {write.type, write.x.columns()}, x, 1,
                           static_cast<std::size_t>(write.x.shape[1]), write.position + index);
  }

  const CpuKernels& kernels_;
  const AttentionHeads& heads_;
};

}  // namespace

void attention_heads(Stream& stream, const AttentionHeads& heads) {
  check(heads);
  const auto rows = static_cast<std::size_t>(heads.q_out.shape[0]);
  const std::size_t kv_width =
      heads.k.data == nullptr ? 0 : static_cast<std::size_t>(heads.k.shape[1]) * heads.k.columns();
  const std::size_t row_floats =
      static_cast<std::size_t>(heads.q_out.shape[1]) * heads.q_out.columns() + 2 * kv_width;
  const std::size_t grain = std::max<std::size_t>(1, kHeadGrain / row_floats);
  const HeadRows work(stream.kernels(), heads);
  stream.pool().split(rows, grain, [&](std::size_t begin, std::size_t end, int thread) {
    for (std::size_t row = begin; row < end; ++row) work.form_query(row);
    const std::span<float> formed(stream.scratch(thread, kv_width), kv_width);
    std::size_t first = 0;  // row at which the current group begins
    for (std::size_t i = 0; i < heads.writes.size(); i += 2) {
      const auto count = static_cast<std::size_t>(heads.writes[i].x.shape[0]);
      for (std::size_t row = std::max(begin, first); row < std::min(end, first + count); ++row) {
        work.store_key(row, heads.writes[i], row - first, formed);
        work.store_value(row, heads.writes[i + 1], row - first, formed);
      }
      first += count;
    }
  });
}

}  // namespace lanner::device::cpu
