// SPDX-License-Identifier: MIT
// For ISA files only: instantiated with types of internal linkage, so every function here is local to its
// file.
#pragma once

#include <cstddef>

namespace lanner::kernels {

/// Register tiles of the prompt path: sums[r][i] += products of row r of x with output i of a panel tile,
/// lane by lane, k ascending. Fast because 12 or more independent FMA chains share kRows + kColumns loads a
/// step.
template <typename Simd>
class Panel {
 public:
  static constexpr std::size_t kLanes = Simd::kLanes;
  static constexpr std::size_t kTileColumns = Simd::kTileColumns;

  /// sums [Simd::kTileRows, kTileColumns, kLanes], of which kRows x kColumns are used; panel
  /// [steps, kTileColumns, kLanes], zero after `depth` columns; x is read up to depth only.
  template <std::size_t kRows, std::size_t kColumns>
  static void add(float* sums, const float* x, std::size_t x_stride, const float* panel, std::size_t depth) {
    Floats acc[kRows][kColumns];
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (std::size_t i = 0; i < kColumns; ++i)
        acc[r][i] = Simd::load(sums + (r * kTileColumns + i) * kLanes);

    std::size_t k = 0;
    for (; k + kLanes <= depth; k += kLanes) {
      Floats weights[kColumns];
#pragma GCC unroll 8
      for (std::size_t i = 0; i < kColumns; ++i) weights[i] = Simd::load(panel + i * kLanes);
#pragma GCC unroll 8
      for (std::size_t r = 0; r < kRows; ++r) {
        const Floats xs = Simd::load(x + r * x_stride + k);
#pragma GCC unroll 8
        for (std::size_t i = 0; i < kColumns; ++i) acc[r][i] = Simd::fma(xs, weights[i], acc[r][i]);
      }
      panel += kTileColumns * kLanes;
    }
    if (k < depth) {
#pragma GCC unroll 8
      for (std::size_t r = 0; r < kRows; ++r) {
        const Floats xs = Simd::load_part(x + r * x_stride + k, depth - k);
#pragma GCC unroll 8
        for (std::size_t i = 0; i < kColumns; ++i)
          acc[r][i] = Simd::fma(xs, Simd::load(panel + i * kLanes), acc[r][i]);
      }
    }

#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (std::size_t i = 0; i < kColumns; ++i)
        Simd::store(sums + (r * kTileColumns + i) * kLanes, acc[r][i]);
  }

  /// The last rows or outputs of a matrix: any rows <= kTileRows and columns <= kTileColumns, one row at a
  /// time unless the tile is whole in columns.
  static void add_edge(std::size_t rows, std::size_t columns, float* sums, const float* x,
                       std::size_t x_stride, const float* panel, std::size_t depth) {
    if (columns == kTileColumns) {
      if (rows == 3) return add<3, kTileColumns>(sums, x, x_stride, panel, depth);
      if (rows == 2) return add<2, kTileColumns>(sums, x, x_stride, panel, depth);
      return add<1, kTileColumns>(sums, x, x_stride, panel, depth);
    }
    if (rows == Simd::kTileRows)
      for (std::size_t i = 0; i < columns; ++i)
        add<Simd::kTileRows, 1>(sums + i * kLanes, x, x_stride, panel + i * kLanes, depth);
    else
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t i = 0; i < columns; ++i)
          add<1, 1>(sums + (r * kTileColumns + i) * kLanes, x + r * x_stride, x_stride, panel + i * kLanes,
                    depth);
  }

 private:
  using Floats = typename Simd::Floats;
};

}  // namespace lanner::kernels
