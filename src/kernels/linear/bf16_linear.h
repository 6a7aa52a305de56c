// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/cpu_features.h"
#include "kernels/linear/weight_view.h"

namespace lanner::kernels {

/// to[i] = x[i] rounded to the nearest bfloat16, ties to even; numbers below the smallest normal one become
/// zeros.
using RoundBf16Fn = void(std::uint16_t* to, const float* x, std::size_t count);

/// out[r, n] = sum_k x[r, k] w[n, k] of dense bfloat16 weights w [N, K] and rounded rows x [rows, K]; out
/// rows are out_stride apart. Lane i of 16 takes pairs (x w)[32s + 2i + 1], then (x w)[32s + 2i] by FMA with
/// s ascending, numbers below the smallest normal one taken and given as zeros (what VDPBF16PS does); then
/// lanes are added in halves (i and i + 8, and so on). Every version gives the same bits for any rows and any
/// range of outputs: batch-invariant: yes. No alignment needs.
using Bf16LinearFn = void(const WeightView& w, const std::uint16_t* x, float* out, std::size_t out_stride,
                          std::size_t rows);

RoundBf16Fn round_bf16_reference, round_bf16_avx512;
Bf16LinearFn bf16_linear_reference, bf16_linear_avx512;

struct Bf16Kernels {
  Bf16LinearFn* linear = nullptr;
  RoundBf16Fn* round = nullptr;
};

/// The kernels of an instruction set that multiplies bfloat16 faster than float, else nulls: AVX-512 with
/// BF16.
Bf16Kernels find_bf16_kernels(Isa isa);

}  // namespace lanner::kernels
