// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "device/ops.h"
#include "layers/residual.h"
#include "layers/rms_norm.h"
#include "layers/step.h"

namespace lanner::layers {

/// y = x Wᵀ, without bias. The weight may be dense or quantized; its kernels were bound when the matrix was
/// built. Rows with adapters get what those add to the weight.
class Linear {
 public:
  Linear() = default;
  /// target: its place among the model's targets; none = adapters leave it alone.
  explicit Linear(device::Matrix weight, std::optional<std::size_t> target = std::nullopt)
      : weight_(std::move(weight)), target_(target) {}

  /// x [T, in] → [T, out]
  Tensor operator()(Step& step, const Tensor& x) const;
  /// The same into `out`, which is not x.
  void into(Step& step, const Tensor& out, const Tensor& x) const;

  const device::Matrix& weight() const { return weight_; }
  /// What a set of adapters adds to the weight; empty = nothing.
  std::span<const device::LowRank> parts(const LoraSet& adapters) const {
    return target_ ? adapters.parts(*target_) : std::span<const device::LowRank>();
  }

 private:
  device::Matrix weight_;
  std::optional<std::size_t> target_;
};

/// Whether adapters of rows of x change products with the weights of `linears`.
bool is_adapted(const Step& step, const Tensor& x, std::span<const Linear* const> linears);
/// Adds to products of x with the weights of `linears` what adapters of rows of x do.
void add_adapters(Step& step, const Tensor& x, std::span<const Tensor> outs,
                  std::span<const Linear* const> linears);

/// Products of one input with several weights, in one go, without what adapters add. in [T, in] → [T, out] of
/// each.
template <std::size_t kCount>
std::array<Tensor, kCount> multiply(Step& step, const device::ProductInput& in,
                                    const std::array<const Linear*, kCount>& linears) {
  std::array<Tensor, kCount> outs;
  std::array<device::LinearCall, kCount> calls;
  for (std::size_t i = 0; i < kCount; ++i) {
    const device::Matrix& w = linears[i]->weight();
    outs[i] = step.floats({static_cast<std::int64_t>(in.x.rows()), static_cast<std::int64_t>(w.rows())});
    calls[i] = {.out = outs[i], .w = &w};
  }
  step.ops.linear(step.stream, calls, in);
  return outs;
}

/// The same with it. x [T, in] → [T, out] of each.
template <std::size_t kCount>
std::array<Tensor, kCount> project(Step& step, const Tensor& x,
                                   const std::array<const Linear*, kCount>& linears) {
  const std::array<Tensor, kCount> outs = multiply<kCount>(step, {.x = x}, linears);
  add_adapters(step, x, outs, linears);
  return outs;
}

/// norm(x) on its way into products, which form it. x [T, in]
class Normed {
 public:
  Normed(const RmsNorm& norm, const Tensor& x) : norm_(&norm), x_(&x) {}
  Normed(const RmsNorm& norm, Residual& x) : norm_(&norm), x_(&x.rows()), residual_(&x) {}

  /// For products that are queued next.
  device::ProductInput input() const;
  /// Formed on its own.
  Tensor operator()(Step& step) const;
  /// A tensor of x's shape, whose values may not be there yet.
  const Tensor& rows() const { return *x_; }

 private:
  const RmsNorm* norm_;
  const Tensor* x_;
  Residual* residual_ = nullptr;
};

/// The same products of norm(x).
template <std::size_t kCount>
std::array<Tensor, kCount> project(Step& step, const Normed& in,
                                   const std::array<const Linear*, kCount>& linears) {
  if (is_adapted(step, in.rows(), linears)) return project(step, in(step), linears);
  return multiply(step, in.input(), linears);
}

/// out = residual + w x; out is not residual.
void add_product(Step& step, const Tensor& out, const Tensor& residual, const Linear& w, const Tensor& x);
/// gelu_tanh(w x) * up, up [T, out]
Tensor gelu_product(Step& step, const Linear& w, Residual& x, const Tensor& up);
/// residual + w x
Tensor add_product(Step& step, const Tensor& residual, const Linear& w, const Tensor& x);

}  // namespace lanner::layers
