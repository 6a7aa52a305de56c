// SPDX-License-Identifier: MIT
#include "device/cpu_projection.h"

#include <algorithm>

#include "device/cpu_norm.h"

namespace lanner::device::cpu {

ProjectionInput::ProjectionInput(const CpuKernels& kernels, const ProductInput& in,
                                 std::span<const Matrix* const> matrices)
    : kernels_(kernels), in_(in), rows_(in.x.rows()), columns_(in.x.columns()) {
  for (const Matrix* w : matrices)
    if (const PackedMatrix* packed = w->packed())
      quantized_[index_of(static_cast<std::size_t>(packed->view().spec.group))].quantize =
          packed->kernels().quantize_rows;
    else
      keeps_normed_ = in.norm;
}

std::size_t ProjectionInput::code_bytes() const {
  return (rows_ * columns_ + Buffer::kAlignment - 1) / Buffer::kAlignment * Buffer::kAlignment;
}

std::size_t ProjectionInput::size_bytes() const {
  std::size_t total = 0;
  for (std::size_t i = 0; i < kGroups.size(); ++i)
    if (quantized_[i].quantize != nullptr)
      total += code_bytes() + 2 * table_floats(kGroups[i]) * sizeof(float);
  if (keeps_normed_) total += rows_ * columns_ * sizeof(float);
  return total;
}

void ProjectionInput::place(std::byte* memory) {
  // Codes first: their part is a multiple of the alignment, so the tables behind them are aligned too.
  for (Quantized& quantized : quantized_) {
    if (quantized.quantize == nullptr) continue;
    quantized.codes = reinterpret_cast<std::int8_t*>(memory);
    memory += code_bytes();
  }
  for (std::size_t i = 0; i < kGroups.size(); ++i) {
    if (quantized_[i].quantize == nullptr) continue;
    quantized_[i].scales = reinterpret_cast<float*>(memory);
    quantized_[i].sums = quantized_[i].scales + table_floats(kGroups[i]);
    memory += 2 * table_floats(kGroups[i]) * sizeof(float);
  }
  if (keeps_normed_) normed_ = reinterpret_cast<float*>(memory);
}

void ProjectionInput::form(std::size_t begin, std::size_t end, float* row) {
  for (std::size_t r = begin; r < end; ++r) {
    std::span<const float> x = in_.x.row(r);
    if (in_.norm) {
      const std::span<float> normed(keeps_normed_ ? normed_ + r * columns_ : row, columns_);
      rms_norm_rows(kernels_, normed, x, columns_, in_.gain, in_.eps);
      x = normed;
    }
    for (std::size_t i = 0; i < kGroups.size(); ++i) {
      const Quantized& to = quantized_[i];
      if (to.quantize == nullptr) continue;
      const std::size_t groups = columns_ / kGroups[i];
      to.quantize(to.codes + r * columns_, to.scales + r * groups, to.sums + r * groups, x.data(), 1,
                  columns_, kGroups[i]);
    }
  }
}

void ProjectionInput::multiply(const Matrix& w, std::size_t unit_begin, std::size_t unit_end, float* out,
                               std::size_t out_stride, float* scratch) const {
  const std::size_t first = unit_begin * kUnitOutputs;
  const std::size_t last = std::min(w.rows(), unit_end * kUnitOutputs);
  if (const PackedMatrix* packed = w.packed()) {
    kernels::PackedView part = packed->view();
    part.data += unit_begin * part.tile_bytes();
    part.rows = last - first;
    const auto group = static_cast<std::size_t>(part.spec.group);
    const Quantized& from = quantized_[index_of(group)];
    packed->kernels().linear(part,
                             {.codes = from.codes,
                              .scales = from.scales,
                              .sums = from.sums,
                              .columns = columns_,
                              .groups = columns_ / group},
                             out, out_stride, rows_, 0, unit_end - unit_begin);
    return;
  }
  w.kernels().linear(weight_rows(w.view(), first, last),
                     {.x = keeps_normed_ ? normed_ : in_.x.floats().data(),
                      .x_stride = columns_,
                      .out = out,
                      .out_stride = out_stride,
                      .rows = rows_,
                      .column_begin = 0,
                      .column_end = last - first,
                      .scratch = scratch});
}

ProjectionScratch projection_scratch(const ProjectionInput& input, std::size_t own_floats) {
  const std::size_t bytes = input.size_bytes();
  if (input.rows() > kOwnRows) return {.shared_bytes = bytes, .thread_floats = own_floats};
  const std::size_t input_floats =
      (bytes + Buffer::kAlignment - 1) / Buffer::kAlignment * (Buffer::kAlignment / sizeof(float));
  return {.shared_bytes = 0, .thread_floats = input_floats + own_floats};
}

}  // namespace lanner::device::cpu
