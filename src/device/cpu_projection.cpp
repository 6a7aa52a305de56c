// SPDX-License-Identifier: MIT
#include "device/cpu_projection.h"

#include <algorithm>

#include "device/cpu_norm.h"

namespace lanner::device::cpu {

ProjectionInput::ProjectionInput(const CpuKernels& kernels, const ProductInput& in,
                                 std::span<const Matrix* const> matrices)
    : kernels_(kernels), in_(in), rows_(in.x.rows()), columns_(in.x.columns()) {
  for (const Matrix* w : matrices) {
    if (const PackedMatrix* packed = w->packed())
      quantized_[index_of(static_cast<std::size_t>(packed->view().spec.group))].quantize =
          packed->kernels().quantize_rows;
    else if (w->bf16_kernels().round != nullptr)
      round_bf16_ = w->bf16_kernels().round;
    else
      keeps_normed_ = in.norm;
  }
}

std::size_t ProjectionInput::row_bytes(std::size_t element_bytes) const {
  return (rows_ * columns_ * element_bytes + Buffer::kAlignment - 1) / Buffer::kAlignment *
         Buffer::kAlignment;
}

std::size_t ProjectionInput::size_bytes() const {
  std::size_t total = round_bf16_ != nullptr ? row_bytes(sizeof(*bf16_)) : 0;
  for (std::size_t i = 0; i < kGroups.size(); ++i)
    if (quantized_[i].quantize != nullptr) total += row_bytes(1) + table_bytes(kGroups[i]);
  if (keeps_normed_) total += rows_ * columns_ * sizeof(float);
  return total;
}

void ProjectionInput::place(std::byte* memory) {
  // Rows first: their part is a multiple of the alignment, so the tables behind them are aligned too.
  if (round_bf16_ != nullptr) {
    bf16_ = reinterpret_cast<std::uint16_t*>(memory);
    memory += row_bytes(sizeof(*bf16_));
  }
  for (Quantized& quantized : quantized_) {
    if (quantized.quantize == nullptr) continue;
    quantized.to.codes = reinterpret_cast<std::int8_t*>(memory);
    memory += row_bytes(1);
  }
  for (std::size_t i = 0; i < kGroups.size(); ++i) {
    if (quantized_[i].quantize == nullptr) continue;
    const std::size_t size = table_size(kGroups[i]);
    kernels::QuantizedTarget& to = quantized_[i].to;
    to.scales = reinterpret_cast<float*>(memory);
    to.sums = to.scales + size;
    to.offsets = reinterpret_cast<std::int32_t*>(to.sums + size);
    memory += table_bytes(kGroups[i]);
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
    if (round_bf16_ != nullptr) round_bf16_(bf16_ + r * columns_, x.data(), columns_);
    for (std::size_t i = 0; i < kGroups.size(); ++i) {
      const auto& [quantize, to] = quantized_[i];
      if (quantize == nullptr) continue;
      const std::size_t groups = columns_ / kGroups[i];
      quantize({.codes = to.codes + r * columns_,
                .scales = to.scales + r * groups,
                .sums = to.sums + r * groups,
                .offsets = to.offsets + r * groups},
               x.data(), 1, columns_, kGroups[i]);
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
    const kernels::QuantizedTarget& from = quantized_[index_of(group)].to;
    packed->kernels().linear(part,
                             {.codes = from.codes,
                              .scales = from.scales,
                              .sums = from.sums,
                              .offsets = from.offsets,
                              .columns = columns_,
                              .groups = columns_ / group},
                             out, out_stride, rows_, 0, unit_end - unit_begin);
    return;
  }
  if (auto* linear = w.bf16_kernels().linear)
    return linear(weight_rows(w.view(), first, last), bf16_, out, out_stride, rows_);
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
