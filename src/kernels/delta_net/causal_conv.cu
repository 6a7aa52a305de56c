// SPDX-License-Identifier: MIT
#include "kernels/cuda/device.cuh"
#include "kernels/delta_net/delta_net.cuda.h"

namespace lanner::kernels {
namespace {

__global__ void causal_conv_kernel(const CausalConvCuda* calls, std::size_t channels, const float* w,
                                   unsigned taps) {
  begin_kernel();
  const CausalConvCuda call = calls[blockIdx.z];
  const std::size_t channel = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const unsigned row = blockIdx.y;
  if (channel >= channels || row >= call.rows) return;
  const unsigned past = taps - 1;
  float sum = 0;
  for (unsigned tap = 0; tap < taps; ++tap) {
    const unsigned at = row + tap;  // index into [history; x]
    const float input =
        at < past ? call.history[at * channels + channel] : call.x[(at - past) * channels + channel];
    sum = fmaf(w[tap * channels + channel], input, sum);
  }
  call.out[row * channels + channel] = sum / (1.0F + expf(-sum));
}

__global__ void delta_net_gates_kernel(float* b, float* a, const float* a_log, const float* dt_bias,
                                       std::size_t count, unsigned heads) {
  begin_kernel();
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const double x = double(a[i]) + double(dt_bias[i % heads]);
  b[i] = float(1 / (1 + exp(-double(b[i]))));
  a[i] = float(-exp(double(a_log[i % heads])) * (x > 20 ? x : log1p(exp(x))));
}

}  // namespace

void causal_conv_cuda(CudaQueue& queue, const CausalConvCuda* calls, std::size_t count, std::size_t rows,
                      std::size_t channels, const float* w, std::size_t taps) {
  queue.launch(causal_conv_kernel, {blocks_for(channels, 256), blocks_for(rows, 1), blocks_for(count, 1)},
               {256}, calls, channels, w, taps);
}

void delta_net_gates_cuda(CudaQueue& queue, float* b, float* a, const float* a_log, const float* dt_bias,
                          std::size_t rows, std::size_t heads) {
  queue.launch(delta_net_gates_kernel, {blocks_for(rows * heads, 128)}, {128}, b, a, a_log, dt_bias,
               rows * heads, heads);
}

}  // namespace lanner::kernels
