// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kernels/simd/lanes.h"

namespace lanner::kernels {
namespace {

/// Queries that dot_rows takes at once: three times four sums fill the 16 registers of AVX2.
inline constexpr std::size_t kDotQueries = kLanes == 8 ? 3 : 6;
/// Keys that dot_rows takes per call.
inline constexpr std::size_t kDotKeys = 8;

/// dots[q * dots_stride + k] = queries[q] · (keys + k * key_stride). Each sum has one accumulator over
/// ascending vectors and one lane tree, whatever Queries and Keys are.
template <std::size_t Queries, std::size_t Keys, typename Key>
inline void dot_tile(float* dots, std::size_t dots_stride, const float* const* queries, const Key* keys,
                     std::size_t key_stride, std::size_t dim) {
  Vec sums[Queries][Keys];
  for (auto& row : sums)
    for (Vec& sum : row) sum = splat(0);
  for_vectors(dim, [&](std::size_t i, auto lanes) {
    Vec q[Queries];
    for (std::size_t a = 0; a < Queries; ++a) q[a] = lanes.load(queries[a] + i);
    for (std::size_t b = 0; b < Keys; ++b) {
      const Vec k = lanes.load(keys + b * key_stride + i);
      for (std::size_t a = 0; a < Queries; ++a) sums[a][b] = fma(q[a], k, sums[a][b]);
    }
  });
  for (std::size_t a = 0; a < Queries; ++a)
    for (std::size_t b = 0; b < Keys; b += 4)
      store_sums(dots + a * dots_stride + b, sums[a][b], sums[a][b + 1], sums[a][b + 2], sums[a][b + 3]);
}

/// The dots of `count` queries with kDotKeys keys.
template <std::size_t Queries = kDotQueries, typename Key>
inline void dot_rows(float* dots, std::size_t dots_stride, const float* const* queries, std::size_t count,
                     const Key* keys, std::size_t key_stride, std::size_t dim) {
  // A lone query needs eight sums to hide the latency of the FMA.
  constexpr std::size_t kKeys = Queries == 1 ? 8 : 4;
  for (; count >= Queries; count -= Queries, queries += Queries, dots += Queries * dots_stride)
    for (std::size_t key = 0; key < kDotKeys; key += kKeys)
      dot_tile<Queries, kKeys>(dots + key, dots_stride, queries, keys + key * key_stride, key_stride, dim);
  if constexpr (Queries > 1) dot_rows<Queries - 1>(dots, dots_stride, queries, count, keys, key_stride, dim);
}

}  // namespace
}  // namespace lanner::kernels
