// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "synthetic/synthetic_tensor.h"

namespace lanner::synthetic {

/// Collects the tensors under one path.
class TensorList {
 public:
  /// y = x Wᵀ with outputs of the inputs' size: uniform with a standard deviation of gain / sqrt(in).
  void matrix(const std::string& path, std::size_t out, std::size_t in, float gain = 1) {
    add_matrix(path, {static_cast<std::int64_t>(out), static_cast<std::int64_t>(in)}, gain);
  }
  /// Stacked experts [count, out, in].
  void experts(const std::string& path, std::size_t count, std::size_t out, std::size_t in) {
    add_matrix(
        path,
        {static_cast<std::int64_t>(count), static_cast<std::int64_t>(out), static_cast<std::int64_t>(in)}, 1);
  }
  void vector(const std::string& name, std::size_t count, float low, float high, DType dtype = DType::kBF16) {
    tensors_.push_back({.name = name,
                        .module = {},
                        .shape = {static_cast<std::int64_t>(count)},
                        .dtype = dtype,
                        .low = low,
                        .high = high});
  }
  void constant(const std::string& name, std::size_t count, float value) {
    vector(name, count, value, value);
  }
  void add(SyntheticTensor tensor) { tensors_.push_back(std::move(tensor)); }

  std::vector<SyntheticTensor> take() { return std::move(tensors_); }

 private:
  void add_matrix(const std::string& path, const Shape& shape, float gain) {
    const float bound = gain * std::sqrt(3.0F / static_cast<float>(shape.back()));
    tensors_.push_back({.name = path + ".weight",
                        .module = path,
                        .shape = shape,
                        .dtype = DType::kBF16,
                        .low = -bound,
                        .high = bound});
  }

  std::vector<SyntheticTensor> tensors_;
};

}  // namespace lanner::synthetic
