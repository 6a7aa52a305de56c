// SPDX-License-Identifier: MIT
#include "device/cpu_op_functions.h"
#include "device/shape_check.h"

namespace lanner::device::cpu {

void embed(Stream& stream, const Tensor& out, const Matrix& table, std::span<const TokenId> ids,
           float scale) {
  check_shape(out.rows() == ids.size() && out.columns() == table.columns(), "embed", out);
  for (std::size_t t = 0; t < ids.size(); ++t) {
    if (ids[t] < 0 || static_cast<std::size_t>(ids[t]) >= table.rows())
      throw Error(
          ErrorKind::kInvalidArgument,
          fmt::format("token id {} at row {} is outside the vocabulary of {}", ids[t], t, table.rows()));
  }
  stream.pool().split(ids.size(), 8, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t t = begin; t < end; ++t) {
      const auto row = out.row(t);
      table.kernels().dequantize_row(row.data(), table.view(), static_cast<std::size_t>(ids[t]));
      if (scale != 1.0F) stream.kernels().scale(row, row, scale);
    }
  });
}

void linear(Stream& stream, const Tensor& out, const Matrix& w, const Tensor& x) {
  check_shape(x.columns() == w.columns(), "linear", x);
  check_shape(out.columns() == w.rows() && out.rows() == x.rows(), "linear", out);
  const std::size_t scratch_floats = kernels::linear_scratch_floats(w.columns());
  stream.pool().split(w.rows(), kernels::kLinearColumnGrain,
                      [&](std::size_t begin, std::size_t end, int thread) {
                        w.kernels().linear(w.view(), {.x = x.floats().data(),
                                                      .x_stride = w.columns(),
                                                      .out = out.floats().data(),
                                                      .out_stride = w.rows(),
                                                      .rows = x.rows(),
                                                      .column_begin = begin,
                                                      .column_end = end,
                                                      .scratch = stream.scratch(thread, scratch_floats)});
                      });
}

}  // namespace lanner::device::cpu
