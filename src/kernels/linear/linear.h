// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>

#include "core/cpu_features.h"
#include "kernels/linear/weight_view.h"

namespace lanner::kernels {

/// One call computes out[r, n] = sum_k x[r, k] * w[n, k] for r < rows and n in [column_begin, column_end).
struct LinearArgs {
  const float* x = nullptr;  ///< [rows, w.columns], rows x_stride apart
  std::size_t x_stride = 0;
  float* out = nullptr;  ///< [rows, w.rows], rows out_stride apart; must not overlap x
  std::size_t out_stride = 0;
  std::size_t rows = 0;
  std::size_t column_begin = 0;  ///< first output column n of this call
  std::size_t column_end = 0;
  float* scratch = nullptr;  ///< linear_scratch_floats(w.columns) floats of the calling thread
};

/// y = x Wᵀ over a range of outputs. Weights are widened to float (affine: scale*q + bias rounded once by FMA
/// or in two steps), products accumulate in float along k in one fixed order per (r, n) that does not depend
/// on rows, the range or the position inside it: batch-invariant: yes. The order: lane k mod L of L = 8
/// (AVX2) or 16 (AVX-512) sums its products by FMA with k ascending, then the lanes are added in halves (lane
/// i and i + L/2, and so on). Reference: double accumulation over float-dequantized weights. No alignment
/// needs beyond the element size. Quantized columns are a multiple of the group. Any column_begin is allowed;
/// a multiple of kLinearColumnGrain is fastest.
using LinearFn = void(const WeightView& w, const LinearArgs& args);

/// out[0, columns) = row `row` of w in float. Affine: scale*q + bias with a rounded product (reference) or
/// FMA.
using DequantizeRowFn = void(float* out, const WeightView& w, std::size_t row);

/// The kernels bound for one weight format on one instruction set.
struct LinearKernels {
  LinearFn* linear = nullptr;
  DequantizeRowFn* dequantize_row = nullptr;
};

/// Output ranges are split at multiples of this.
inline constexpr std::size_t kLinearColumnGrain = 16;

/// Floats of scratch one thread needs for any row count.
std::size_t linear_scratch_floats(std::size_t columns);

/// The kernels for a format, or std::nullopt when no kernel takes it (unknown bits or group). ISA files that
/// lack a version of a format fall back to the next weaker set explicitly, here, at bind time.
std::optional<LinearKernels> find_linear_kernels(const WeightSpec& spec, Isa isa);

}  // namespace lanner::kernels
