// SPDX-License-Identifier: MIT
// For .cu files: what a delta net's rows become before the delta rule, to the same bits wherever it is done.
#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/delta_net/delta_net.cuda.h"

namespace lanner::kernels {

inline constexpr unsigned kTaps = 4;

struct Gates {
  float beta;
  float log_decay;
};

__device__ inline Gates gates_of(float b, float a, float a_log, float dt_bias) {
  const float x = a + dt_bias;
  return {1.0F / (1.0F + expf(-b)), -expf(a_log) * (x > 20.0F ? x : log1pf(expf(x)))};
}

/// One channel of a convolution of kTaps taps.
struct ConvChannel {
  float taps[kTaps];
  float past[kTaps - 1];  ///< the inputs before the next, oldest first

  /// silu of the sum that ends with x, which becomes the last of the past.
  __device__ float next(float x) {
    float sum = 0;
#pragma unroll
    for (unsigned i = 0; i < kTaps; ++i) sum = fmaf(taps[i], i + 1 < kTaps ? past[i] : x, sum);
#pragma unroll
    for (unsigned i = 0; i + 2 < kTaps; ++i) past[i] = past[i + 1];
    past[kTaps - 2] = x;
    return sum / (1.0F + expf(-sum));
  }

  /// Where the next rows go on, once all of the call's were taken.
  __device__ void keep(const DeltaMixCuda& call, std::size_t channels, std::size_t channel) const {
    float* to = call.next_history + channel;
    if (call.kept != kTaps - 1) {
      for (unsigned i = 0; i < call.kept; ++i) to[i * channels] = call.x[i * channels + channel];
      return;
    }
#pragma unroll
    for (unsigned i = 0; i + 1 < kTaps; ++i) to[i * channels] = past[i];
  }
};

}  // namespace lanner::kernels
