// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kernels/simd/lanes.h"
#include "kernels/simd/vec_math.h"

namespace lanner::kernels {
namespace {

/// out[i] = f(a[i])
template <typename Function>
inline void map_vectors(float* out, const float* a, std::size_t count, const Function& f) {
  for_vectors(count, [&](std::size_t i, auto lanes) { lanes.store(out + i, f(lanes.load(a + i))); });
}

/// out[i] = f(a[i], b[i])
template <typename Function>
inline void map_vectors(float* out, const float* a, const float* b, std::size_t count, const Function& f) {
  for_vectors(count, [&](std::size_t i, auto lanes) {
    lanes.store(out + i, f(lanes.load(a + i), lanes.load(b + i)));
  });
}

inline void add_vectors(float* out, const float* a, const float* b, std::size_t count) {
  map_vectors(out, a, b, count, [](Vec x, Vec y) { return x + y; });
}

inline void scale_vectors(float* out, const float* x, std::size_t count, float factor) {
  const Vec f = splat(factor);
  map_vectors(out, x, count, [f](Vec v) { return v * f; });
}

inline void gelu_mul_vectors(float* out, const float* gate, const float* up, std::size_t count) {
  map_vectors(out, gate, up, count, [](Vec g, Vec u) { return vec_gelu_tanh(g) * u; });
}

inline void silu_mul_vectors(float* out, const float* gate, const float* up, std::size_t count) {
  map_vectors(out, gate, up, count, [](Vec g, Vec u) { return vec_silu(g) * u; });
}

inline void sigmoid_mul_vectors(float* out, const float* x, const float* gate, std::size_t count) {
  map_vectors(out, x, gate, count, [](Vec v, Vec g) { return v * vec_sigmoid(g); });
}

inline void softcap_vectors(float* out, const float* x, std::size_t count, float cap) {
  const Vec c = splat(cap);
  map_vectors(out, x, count, [c](Vec v) { return c * vec_tanh(v / c); });
}

}  // namespace
}  // namespace lanner::kernels
