// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>

#include "core/cpu_features.h"
#include "kernels/linear/linear.h"

namespace lanner::device {

using kernels::WeightFormat;
using kernels::WeightSpec;
using kernels::WeightView;

/// A weight matrix [rows, columns] = [out, in] on a device with the kernels bound for its format. Immutable;
/// copies share the memory, which `owner` keeps alive (a mapped checkpoint or a Buffer).
class Matrix {
 public:
  Matrix() = default;
  /// Throws Error kUnsupported when no kernel takes the format.
  Matrix(const kernels::WeightView& view, std::shared_ptr<const void> owner, Isa isa);

  std::size_t rows() const { return view_.rows; }
  std::size_t columns() const { return view_.columns; }
  const kernels::WeightView& view() const { return view_; }
  const kernels::LinearKernels& kernels() const { return kernels_; }
  /// Bytes of elements, scales and biases.
  std::size_t size_bytes() const;

 private:
  kernels::WeightView view_;
  kernels::LinearKernels kernels_;
  std::shared_ptr<const void> owner_;
};

/// Bytes that rows × columns take in a format, scales and biases included.
std::size_t weight_bytes(const kernels::WeightSpec& spec, std::size_t rows, std::size_t columns);

/// Rows [begin, end) of a matrix.
kernels::WeightView weight_rows(const kernels::WeightView& view, std::size_t begin, std::size_t end);

}  // namespace lanner::device
