// SPDX-License-Identifier: MIT
#include "kernels/cuda/device.cuh"
#include "kernels/delta_net/delta_inputs.cuh"

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

constexpr unsigned kConvRows = 8;
constexpr unsigned kConvThreads = 128;

// The same for kTaps taps and channels in fours: fast because a thread asks for all inputs of its 4 channels
// and kConvRows rows at once and reads them once.
__global__ void causal_conv_rows_kernel(const CausalConvCuda* calls, std::size_t channels, const float* w) {
  begin_kernel();
  const CausalConvCuda call = calls[blockIdx.z];
  const std::size_t channel = (std::size_t{blockIdx.x} * kConvThreads + threadIdx.x) * 4;
  const unsigned first = blockIdx.y * kConvRows;
  if (channel >= channels || first >= call.rows) return;
  constexpr unsigned kPast = kTaps - 1;
  float4 inputs[kConvRows + kPast];
#pragma unroll
  for (unsigned i = 0; i < kConvRows + kPast; ++i) {
    const unsigned at = min(first + i, call.rows + kPast - 1);  // index into [history; x]
    const float* from = at < kPast ? call.history + at * channels : call.x + (at - kPast) * channels;
    inputs[i] = *reinterpret_cast<const float4*>(from + channel);
  }
  float4 taps[kTaps];
#pragma unroll
  for (unsigned tap = 0; tap < kTaps; ++tap)
    taps[tap] = *reinterpret_cast<const float4*>(w + tap * channels + channel);
#pragma unroll
  for (unsigned r = 0; r < kConvRows; ++r) {
    if (first + r >= call.rows) return;
    float4 out;
#pragma unroll
    for (unsigned c = 0; c < 4; ++c) {
      float sum = 0;
#pragma unroll
      for (unsigned tap = 0; tap < kTaps; ++tap) sum = fmaf((&taps[tap].x)[c], (&inputs[r + tap].x)[c], sum);
      (&out.x)[c] = sum / (1.0F + expf(-sum));
    }
    *reinterpret_cast<float4*>(call.out + (first + r) * channels + channel) = out;
  }
}

__global__ void delta_net_gates_kernel(float* b, float* a, const float* a_log, const float* dt_bias,
                                       std::size_t count, unsigned heads) {
  begin_kernel();
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Gates gates = gates_of(b[i], a[i], a_log[i % heads], dt_bias[i % heads]);
  b[i] = gates.beta;
  a[i] = gates.log_decay;
}

}  // namespace

void causal_conv_cuda(CudaQueue& queue, const CausalConvCuda* calls, std::size_t count, std::size_t rows,
                      std::size_t channels, const float* w, std::size_t taps) {
  if (taps == kTaps && channels % 4 == 0) {
    const Grid grid = {blocks_for(channels, 4 * kConvThreads), blocks_for(rows, kConvRows),
                       blocks_for(count, 1)};
    return queue.launch(causal_conv_rows_kernel, grid, {kConvThreads}, calls, channels, w);
  }
  queue.launch(causal_conv_kernel, {blocks_for(channels, 256), blocks_for(rows, 1), blocks_for(count, 1)},
               {256}, calls, channels, w, taps);
}

void delta_net_gates_cuda(CudaQueue& queue, float* b, float* a, const float* a_log, const float* dt_bias,
                          std::size_t rows, std::size_t heads) {
  queue.launch(delta_net_gates_kernel, {blocks_for(rows * heads, 128)}, {128}, b, a, a_log, dt_bias,
               rows * heads, heads);
}

}  // namespace lanner::kernels
