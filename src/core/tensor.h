// SPDX-License-Identifier: MIT
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/dtype.h"
#include "core/shape.h"

namespace lanner {

/// Where a tensor's bytes live.
enum class DeviceKind : std::uint8_t { kCpu, kCuda };

/// Non-owning, dtype-erased, dense row-major tensor. Owners are Buffer (weights, caches), Arena (one step)
/// and MappedFile (checkpoints); whoever hands out a Tensor keeps its owner alive.
struct Tensor {
  void* data = nullptr;
  DType dtype = DType::kF32;
  Shape shape;
  DeviceKind device = DeviceKind::kCpu;

  std::int64_t element_count() const { return shape.element_count(); }
  std::size_t size_bytes() const {
    return static_cast<std::size_t>(element_count()) * lanner::size_bytes(dtype);
  }
  /// Rows of the matrix seen when all but the innermost axis are joined.
  std::size_t rows() const { return static_cast<std::size_t>(element_count() / shape.back()); }
  /// Innermost extent.
  std::size_t columns() const { return static_cast<std::size_t>(shape.back()); }

  /// All elements of a CPU float tensor.
  std::span<float> floats() const {
    assert(dtype == DType::kF32 && device == DeviceKind::kCpu);
    return {static_cast<float*>(data), static_cast<std::size_t>(element_count())};
  }
  /// Row `index` of a CPU float tensor joined to a matrix.
  std::span<float> row(std::size_t index) const {
    assert(index < rows());
    return floats().subspan(index * columns(), columns());
  }
  /// The same elements under another shape of equal count.
  Tensor reshaped(const Shape& other) const {
    assert(other.element_count() == element_count());
    return {data, dtype, other, device};
  }
  /// Rows [begin, end) of the outermost axis.
  Tensor slice(std::int64_t begin, std::int64_t end) const;
};

}  // namespace lanner
