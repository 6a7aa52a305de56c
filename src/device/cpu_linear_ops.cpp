// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include "device/cpu_op_functions.h"
#include "device/cpu_projection.h"
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

namespace {

/// Units that a thread takes at a time, in whole blocks: some eighth of its part; of a single row, which
/// waits for memory and wants long streams, some half.
std::size_t piece_units(std::size_t units, std::size_t rows, std::size_t threads) {
  const std::size_t blocks = units / ((rows == 1 ? 2 : 8) * threads * kBlockUnits);
  return std::max<std::size_t>(1, blocks) * kBlockUnits;
}

/// Runs body(input, begin, end, scratch) over pieces of [0, units), with the input in the forms that the
/// products take. scratch holds own_floats, with the float kernels' scratch behind the body's own.
template <typename Body>
void run_units(Stream& stream, const ProjectionInput& input, std::size_t units, std::size_t own_floats,
               Body&& body) {
  const ProjectionScratch needed = projection_scratch(input, own_floats);
  const bool own = needed.shared_bytes == 0 && input.size_bytes() != 0;
  ProjectionInput shared = input;
  if (needed.shared_bytes != 0) {
    shared.place(stream.shared_scratch(needed.shared_bytes));
    stream.pool().split(input.rows(), 1, [&](std::size_t begin, std::size_t end, int thread) {
      shared.form(begin, end, stream.scratch(thread, needed.thread_floats));
    });
  }
  const std::size_t piece =
      piece_units(units, input.rows(), static_cast<std::size_t>(stream.pool().threads()));
  stream.pool().share(units, piece, [&](ThreadPool::Pieces& pieces, int thread) {
    auto part = pieces.next();
    if (!part) return;
    ProjectionInput mine = shared;
    float* const memory = stream.scratch(thread, needed.thread_floats);
    float* const scratch = memory + (needed.thread_floats - own_floats);
    if (own) {
      mine.place(reinterpret_cast<std::byte*>(memory));
      mine.form(0, mine.rows(), scratch);
    }
    for (; part; part = pieces.next()) body(mine, part->begin, part->end, scratch);
  });
}

/// x of an input, where it is a sum.
void form_sum(Stream& stream, const ProductInput& in) {
  if (!in.sum) return;
  check_shape(in.x.data != in.sum->x.data && in.x.data != in.sum->y.data, "sum of an input", in.x);
  add_norm(stream, in.x, in.sum->x, in.sum->y, in.sum->gain, in.sum->eps, in.sum->factor);
}

/// Outputs of units [begin, end) of one product; what follows is done while they are in the cache.
void form_outputs(const CpuKernels& kernels, const ProjectionInput& in, const LinearCall& call,
                  std::size_t begin, std::size_t end, float* scratch) {
  const Matrix& w = *call.w;
  const bool adds = call.residual.data != nullptr;
  const bool gates = call.up.data != nullptr;
  auto* activation = call.activation == GatedActivation::kGeluTanh ? kernels.gelu_mul : kernels.silu_mul;
  const std::size_t block = adds || gates ? kBlockUnits : end - begin;
  for (std::size_t unit = begin; unit < end; unit += block) {
    const std::size_t stop = std::min(end, unit + block);
    const std::size_t first = unit * kUnitOutputs;
    const std::size_t width = std::min(w.rows(), stop * kUnitOutputs) - first;
    in.multiply(w, unit, stop, call.out.floats().data() + first, w.rows(), scratch);
    for (std::size_t row = 0; (adds || gates) && row < in.rows(); ++row) {
      const auto part = call.out.row(row).subspan(first, width);
      if (adds) kernels.add(part, call.residual.row(row).subspan(first, width), part);
      if (gates) activation(part, part, call.up.row(row).subspan(first, width));
    }
  }
}

}  // namespace

void linear(Stream& stream, std::span<const LinearCall> calls, const ProductInput& in) {
  std::array<const Matrix*, kMaxLinearCalls> matrices{};
  if (calls.size() > matrices.size())
    throw Error(ErrorKind::kInternal, "linear: too many products of one input");
  std::size_t units = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const LinearCall& call = calls[i];
    check_shape(in.x.columns() == call.w->columns(), "linear", in.x);
    check_shape(call.out.columns() == call.w->rows() && call.out.rows() == in.x.rows(), "linear", call.out);
    check_shape(call.residual.data == nullptr ||
                    (call.residual.shape == call.out.shape && call.residual.data != call.out.data),
                "linear", call.residual);
    check_shape(call.up.data == nullptr || (call.up.shape == call.out.shape &&
                                            call.up.data != call.out.data && call.residual.data == nullptr),
                "linear", call.up);
    matrices[i] = call.w;
    units += units_of(*call.w);
  }
  form_sum(stream, in);
  const ProjectionInput input(stream.kernels(), in, std::span(matrices).first(calls.size()));
  run_units(stream, input, units, kernels::linear_scratch_floats(in.x.columns()),
            [&](const ProjectionInput& mine, std::size_t begin, std::size_t end, float* scratch) {
              std::size_t first = 0;  // unit at which the current matrix begins
              for (const LinearCall& call : calls) {
                const std::size_t count = units_of(*call.w);
                const std::size_t from = std::max(begin, first);
                const std::size_t to = std::min(end, first + count);
                if (from < to) form_outputs(stream.kernels(), mine, call, from - first, to - first, scratch);
                first += count;
              }
            });
}

void gated_linear(Stream& stream, const Tensor& out, const Matrix& gate, const Matrix& up,
                  const ProductInput& in, GatedActivation kind) {
  const std::size_t rows = in.x.rows();
  check_shape(in.x.columns() == gate.columns() && in.x.columns() == up.columns(), "gated_linear", in.x);
  check_shape(out.columns() == gate.rows() && gate.rows() == up.rows() && out.rows() == rows, "gated_linear",
              out);
  auto* activation =
      kind == GatedActivation::kGeluTanh ? stream.kernels().gelu_mul : stream.kernels().silu_mul;
  form_sum(stream, in);
  const std::array<const Matrix*, 2> matrices = {&gate, &up};
  const ProjectionInput input(stream.kernels(), in, matrices);
  constexpr std::size_t kWidth = kBlockUnits * kUnitOutputs;
  const std::size_t up_floats = rows * kWidth;
  run_units(stream, input, units_of(gate), gated_scratch_floats(rows, in.x.columns()),
            [&](const ProjectionInput& mine, std::size_t begin, std::size_t end, float* scratch) {
              float* const ups = scratch;
              for (std::size_t unit = begin; unit < end; unit += kBlockUnits) {
                const std::size_t stop = std::min(end, unit + kBlockUnits);
                const std::size_t first = unit * kUnitOutputs;
                const std::size_t width = std::min(gate.rows(), stop * kUnitOutputs) - first;
                mine.multiply(gate, unit, stop, out.floats().data() + first, gate.rows(),
                              scratch + up_floats);
                mine.multiply(up, unit, stop, ups, kWidth, scratch + up_floats);
                for (std::size_t row = 0; row < rows; ++row) {
                  const auto part = out.row(row).subspan(first, width);
                  activation(part, part, {ups + row * kWidth, width});
                }
              }
            });
}

}  // namespace lanner::device::cpu
