// SPDX-License-Identifier: MIT
#include "device/matrix.h"

#include <fmt/format.h>

#include "core/error.h"
#include "device/tiled_matrix.h"

namespace lanner::device {
namespace {

std::size_t element_bytes(const WeightSpec& spec, std::size_t columns) {
  if (spec.format == WeightFormat::kDense) return columns * size_bytes(spec.dtype);
  return columns * static_cast<std::size_t>(spec.bits) / 8;
}

std::size_t scale_bytes(const WeightSpec& spec, std::size_t columns) {
  if (spec.format == WeightFormat::kDense) return 0;
  const std::size_t groups = columns / static_cast<std::size_t>(spec.group);
  return groups * (spec.format == WeightFormat::kAffine ? size_bytes(spec.dtype) : 1);
}

const void* advance(const void* data, std::size_t bytes) {
  return data == nullptr ? nullptr : static_cast<const std::byte*>(data) + bytes;
}

kernels::LinearKernels bind_kernels(const WeightSpec& spec, Isa isa) {
  const auto found = kernels::find_linear_kernels(spec, isa);
  if (!found)
    throw Error(ErrorKind::kUnsupported,
                fmt::format("no kernel for {}-bit weights with group {} and scales of type {}", spec.bits,
                            spec.group, name(spec.dtype)));
  return *found;
}

}  // namespace

std::string_view name(Compute compute) {
  switch (compute) {
    case Compute::kInt8:
      return "int8";
    case Compute::kHalf:
      return "half";
    default:
      return "exact";
  }
}

Compute parse_compute(std::string_view text) {
  for (const Compute compute : {Compute::kExact, Compute::kInt8, Compute::kHalf})
    if (text == name(compute)) return compute;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("unknown arithmetic \"{}\", expected exact, int8 or half", text));
}

Matrix::Matrix(const kernels::WeightView& view, std::shared_ptr<const void> owner, Isa isa)
    : view_(view), kernels_(bind_kernels(view.spec, isa)), owner_(std::move(owner)) {}

bool Matrix::packs(Isa isa) const {
  return product_arithmetic(view_.spec, Compute::kInt8, isa) == ProductArithmetic::kInt8;
}

void Matrix::pack(Isa isa, ThreadPool& pool) {
  bind_bf16(isa);
  if (packs(isa)) packed_ = std::make_shared<const PackedMatrix>(view_, isa, pool);
}

void Matrix::plan_packed(Isa isa) {
  bind_bf16(isa);
  if (packs(isa)) packed_ = std::make_shared<const PackedMatrix>(PackedMatrix::planned(view_, isa));
}

void Matrix::bind_bf16(Isa isa) {
  if (product_arithmetic(view_.spec, Compute::kInt8, isa) == ProductArithmetic::kBf16)
    bf16_kernels_ = kernels::find_bf16_kernels(isa);
}

void Matrix::set_tiled(std::shared_ptr<const TiledMatrix> tiled) {
  tiled_ = std::move(tiled);
  view_.data = view_.scales = view_.biases = nullptr;
  owner_.reset();
}

std::size_t Matrix::size_bytes() const { return weight_bytes(view_.spec, view_.rows, view_.columns); }

ProductArithmetic product_arithmetic(const WeightSpec& spec, Compute compute, Isa isa) {
  if (compute != Compute::kInt8) return ProductArithmetic::kFloat;
  if (kernels::is_packable(spec) && kernels::has_fast_int8(isa)) return ProductArithmetic::kInt8;
  const bool bf16 = spec.format == WeightFormat::kDense && spec.dtype == DType::kBF16;
  return bf16 && kernels::find_bf16_kernels(isa).linear != nullptr ? ProductArithmetic::kBf16
                                                                   : ProductArithmetic::kFloat;
}

std::size_t weight_bytes(const WeightSpec& spec, std::size_t rows, std::size_t columns) {
  const std::size_t tables = spec.format == WeightFormat::kAffine ? 2 : 1;
  return rows * (element_bytes(spec, columns) + tables * scale_bytes(spec, columns));
}

kernels::WeightView weight_rows(const kernels::WeightView& view, std::size_t begin, std::size_t end) {
  kernels::WeightView part = view;
  part.rows = end - begin;
  part.data = advance(view.data, begin * element_bytes(view.spec, view.columns));
  part.scales = advance(view.scales, begin * scale_bytes(view.spec, view.columns));
  part.biases = advance(view.biases, begin * scale_bytes(view.spec, view.columns));
  return part;
}

}  // namespace lanner::device
