// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace lanner::kernels {

inline constexpr std::size_t kMaxConvTaps = 8;

/// Depthwise causal convolution over time, then silu.
struct CausalConvArgs {
  const float* x = nullptr;        ///< [rows, channels], raw inputs of this call
  const float* history = nullptr;  ///< [taps-1, channels], raw inputs before row 0, oldest first
  const float* w = nullptr;  ///< [taps, channels]: w[taps-1] multiplies the current row (transposed at load)
  float* out = nullptr;      ///< [rows, channels], not x
  std::size_t rows = 0;
  std::size_t channels = 0;
  std::size_t taps = 0;  ///< 1..kMaxConvTaps; 4 in released models
};

/// out[t,c] = silu(sum_j w[j,c] * in[t-taps+1+j, c]) for channels [channel_begin, channel_end), taps summed
/// in ascending j. Float. batch-invariant: yes. Source: Qwen3_5GatedDeltaNet causal_conv1d,
/// transformers 5.17.
using CausalConvFn = void(const CausalConvArgs& args, std::size_t channel_begin, std::size_t channel_end);
CausalConvFn causal_conv_reference, causal_conv_avx2, causal_conv_avx512, causal_conv_neon;

}  // namespace lanner::kernels
