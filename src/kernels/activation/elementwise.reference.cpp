// SPDX-License-Identifier: MIT
#include "kernels/activation/elementwise.h"

#include <cmath>
#include <cstddef>
#include <numbers>

namespace lanner::kernels {
namespace {

// 1 + tanh(u) = 2 sigmoid(2u): the same function without the cancellation for negative x.
double gelu_tanh(double x) {
  const double u = std::numbers::sqrt2 * std::numbers::inv_sqrtpi * (x + 0.044715 * x * x * x);
  return x / (1 + std::exp(-2 * u));
}

double silu(double x) { return x / (1 + std::exp(-x)); }

}  // namespace

void add_reference(std::span<float> out, std::span<const float> a, std::span<const float> b) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = a[i] + b[i];
}

void scale_reference(std::span<float> out, std::span<const float> x, float factor) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = x[i] * factor;
}

void gelu_mul_reference(std::span<float> out, std::span<const float> gate, std::span<const float> up) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = float(gelu_tanh(double(gate[i])) * double(up[i]));
}

void silu_mul_reference(std::span<float> out, std::span<const float> gate, std::span<const float> up) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = float(silu(double(gate[i])) * double(up[i]));
}

void sigmoid_mul_reference(std::span<float> out, std::span<const float> x, std::span<const float> gate) {
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = float(double(x[i]) / (1 + std::exp(-double(gate[i]))));
}

void softcap_reference(std::span<float> out, std::span<const float> x, float cap) {
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = float(double(cap) * std::tanh(double(x[i]) / double(cap)));
}

}  // namespace lanner::kernels
