// SPDX-License-Identifier: MIT
#include "layers/residual.h"

#include <cassert>
#include <utility>

namespace lanner::layers {

Residual::Residual(Step& step, const Tensor& x)
    : x_(x), spare_(step.floats(x.shape)), addend_(step.floats(x.shape)) {}

void Residual::add_normed(const RmsNorm& norm, float factor) {
  assert(due_ == nullptr);
  due_ = &norm;
  factor_ = factor;
}

const Tensor& Residual::states(Step& step) {
  if (due_ != nullptr) layers::add_normed(step, x_, x_, *std::exchange(due_, nullptr), addend_, factor_);
  return x_;
}

device::ProductInput Residual::input() {
  if (due_ == nullptr) return {.x = x_};
  const RmsNorm& norm = *std::exchange(due_, nullptr);
  std::swap(x_, spare_);
  return {.x = x_,
          .sum = device::NormedSum{
              .x = spare_, .y = addend_, .gain = norm.weight, .eps = norm.eps, .factor = factor_}};
}

}  // namespace lanner::layers
