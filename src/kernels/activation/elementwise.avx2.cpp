// SPDX-License-Identifier: MIT
#include "kernels/activation/elementwise.h"

#include "kernels/activation/elementwise.simd.h"

namespace lanner::kernels {

// Fast because: 8 lanes, exp and tanh as polynomials without a branch or a table.

void add_avx2(std::span<float> out, std::span<const float> a, std::span<const float> b) {
  add_vectors(out.data(), a.data(), b.data(), out.size());
}

void scale_avx2(std::span<float> out, std::span<const float> x, float factor) {
  scale_vectors(out.data(), x.data(), out.size(), factor);
}

void gelu_mul_avx2(std::span<float> out, std::span<const float> gate, std::span<const float> up) {
  gelu_mul_vectors(out.data(), gate.data(), up.data(), out.size());
}

void silu_mul_avx2(std::span<float> out, std::span<const float> gate, std::span<const float> up) {
  silu_mul_vectors(out.data(), gate.data(), up.data(), out.size());
}

void sigmoid_mul_avx2(std::span<float> out, std::span<const float> x, std::span<const float> gate) {
  sigmoid_mul_vectors(out.data(), x.data(), gate.data(), out.size());
}

void softcap_avx2(std::span<float> out, std::span<const float> x, float cap) {
  softcap_vectors(out.data(), x.data(), out.size(), cap);
}

}  // namespace lanner::kernels
