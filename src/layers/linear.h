// SPDX-License-Identifier: MIT
#pragma once

#include "device/matrix.h"
#include "layers/step.h"

namespace lanner::layers {

/// y = x Wᵀ, without bias. The weight may be dense or quantized; its kernels were bound when the matrix was
/// built.
class Linear {
 public:
  Linear() = default;
  explicit Linear(device::Matrix weight) : weight_(std::move(weight)) {}

  /// x [T, in] → [T, out]
  Tensor operator()(Step& step, const Tensor& x) const;

  const device::Matrix& weight() const { return weight_; }

 private:
  device::Matrix weight_;
};

}  // namespace lanner::layers
