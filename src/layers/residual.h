// SPDX-License-Identifier: MIT
#pragma once

#include "layers/rms_norm.h"
#include "layers/step.h"

namespace lanner::layers {

/// The hidden states x [rows, H] that layers add to. What was added last is formed by the products that read
/// x next, on their way (device::NormedSum), or by states().
class Residual {
 public:
  /// Takes x over, and room for as much twice; all of it must outlive this.
  Residual(Step& step, const Tensor& x);

  /// Where the next addend goes [rows, H]: to be written after what was added before was read.
  const Tensor& addend() const { return addend_; }
  /// x = (x + norm(addend)) * factor
  void add_normed(const RmsNorm& norm, float factor = 1);

  /// x
  const Tensor& states(Step& step);
  /// x as the input of products that are queued next.
  device::ProductInput input();
  /// A tensor of x's shape, whose values may not be there yet.
  const Tensor& rows() const { return x_; }

 private:
  Tensor x_;
  Tensor spare_;  ///< where the sum goes that products form
  Tensor addend_;
  const RmsNorm* due_ = nullptr;  ///< the addend's, while its sum is yet to be formed
  float factor_ = 1;
};

}  // namespace lanner::layers
