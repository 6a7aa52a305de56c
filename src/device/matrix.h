// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

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

/// The matrices of all experts of one projection, equal in shape and format, each anywhere in memory: files
/// hold them stacked, fused with another projection, or apart.
class ExpertStack {
 public:
  ExpertStack() = default;
  /// Throws Error kUnsupported when no kernel takes the format, kInternal when there is no expert.
  ExpertStack(std::vector<kernels::WeightView> experts, std::vector<std::shared_ptr<const void>> owners,
              Isa isa);

  std::size_t count() const { return experts_.size(); }
  std::size_t rows() const { return experts_.front().rows; }
  std::size_t columns() const { return experts_.front().columns; }
  const kernels::WeightView& expert(std::size_t index) const { return experts_[index]; }
  const kernels::LinearKernels& kernels() const { return kernels_; }
  std::size_t size_bytes() const;

 private:
  std::vector<kernels::WeightView> experts_;
  kernels::LinearKernels kernels_;
  std::vector<std::shared_ptr<const void>> owners_;
};

/// Bytes that rows × columns take in a format, scales and biases included.
std::size_t weight_bytes(const kernels::WeightSpec& spec, std::size_t rows, std::size_t columns);

/// Rows [begin, end) of a matrix.
kernels::WeightView weight_rows(const kernels::WeightView& view, std::size_t begin, std::size_t end);

}  // namespace lanner::device
