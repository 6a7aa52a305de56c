// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include "device/cpu_op_functions.h"
#include "device/shape_check.h"

namespace lanner::device::cpu {

void copy(Stream& /*stream*/, const Tensor& out, const Tensor& x) {
  check_shape(out.element_count() == x.element_count(), "copy", x);
  std::ranges::copy(x.floats(), out.floats().begin());
}

void take_rows(Stream& /*stream*/, const Tensor& out, const Tensor& x, std::span<const std::size_t> rows) {
  check_shape(out.rows() == rows.size() && out.columns() == x.columns(), "take_rows", out);
  for (std::size_t i = 0; i < rows.size(); ++i) std::ranges::copy(x.row(rows[i]), out.row(i).begin());
}

void split_pairs(Stream& /*stream*/, const Tensor& first, const Tensor& second, const Tensor& pairs) {
  check_shape(
      first.shape == second.shape && pairs.rows() == 2 * first.rows() && pairs.columns() == first.columns(),
      "split_pairs", pairs);
  for (std::size_t i = 0; i < first.rows(); ++i) {
    std::ranges::copy(pairs.row(2 * i), first.row(i).begin());
    std::ranges::copy(pairs.row(2 * i + 1), second.row(i).begin());
  }
}

void swap_axes(Stream& /*stream*/, const Tensor& out, const Tensor& x) {
  check_shape(x.shape.rank() == 3 && out.shape == Shape{x.shape[1], x.shape[0], x.shape[2]}, "swap_axes", x);
  const auto outer = static_cast<std::size_t>(x.shape[0]);
  const auto inner = static_cast<std::size_t>(x.shape[1]);
  for (std::size_t a = 0; a < outer; ++a)
    for (std::size_t b = 0; b < inner; ++b)
      std::ranges::copy(x.row(a * inner + b), out.row(b * outer + a).begin());
}

void push_history(Stream& /*stream*/, std::span<const HistoryPush> pushes) {
  for (const auto& [history, rows, x] : pushes) {
    const std::size_t channels = x.columns();
    const std::size_t fresh = std::min(x.rows(), rows);
    std::memmove(history, history + fresh * channels, (rows - fresh) * channels * sizeof(float));
    std::memcpy(history + (rows - fresh) * channels, x.floats().data() + (x.rows() - fresh) * channels,
                fresh * channels * sizeof(float));
  }
}

std::span<float> host_floats(Stream& /*stream*/, const Tensor& x) { return x.floats(); }

void argmax(Stream& /*stream*/, std::span<TokenId> out, const Tensor& x) {
  check_shape(out.size() == x.rows(), "argmax", x);
  for (std::size_t t = 0; t < out.size(); ++t) {
    const auto row = x.row(t);
    out[t] = static_cast<TokenId>(std::ranges::max_element(row) - row.begin());
  }
}

}  // namespace lanner::device::cpu
