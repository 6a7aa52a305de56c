// SPDX-License-Identifier: MIT
#include "kernels/cuda/device.cuh"
#include "kernels/delta_net/delta_net.cuda.h"

namespace lanner::kernels {
namespace {

constexpr unsigned kTaps = 4;

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

struct Gates {
  float beta;
  float log_decay;
};

__device__ Gates gates_of(float b, float a, float a_log, float dt_bias) {
  const float x = a + dt_bias;
  return {1.0F / (1.0F + expf(-b)), -expf(a_log) * (x > 20.0F ? x : log1pf(expf(x)))};
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

constexpr unsigned kMostElements = 4;  // of a lane: heads of at most 128
constexpr unsigned kInputWarps = 4;

// One warp per (head, sequence): queries first, then keys, then values.
__global__ void delta_inputs_kernel(const DeltaInputsCuda* calls, DeltaShapeCuda shape,
                                    DeltaInputWeightsCuda weights) {
  begin_kernel();
  const DeltaInputsCuda call = calls[blockIdx.y];
  const unsigned head = blockIdx.x * kInputWarps + threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  const unsigned normed = 2 * shape.key_heads;
  if (head >= normed + shape.value_heads) return;
  const bool is_value = head >= normed;
  const unsigned dim = is_value ? shape.value_dim : shape.key_dim;
  const unsigned first =
      is_value ? normed * shape.key_dim + (head - normed) * shape.value_dim : head * shape.key_dim;
  const std::size_t channels = std::size_t{normed} * shape.key_dim + shape.value_heads * shape.value_dim;
  float past[kMostElements][kTaps - 1];
  float taps[kMostElements][kTaps];
#pragma unroll
  for (unsigned j = 0; j < kMostElements; ++j) {
    const std::size_t channel = first + lane + j * 32;
    if (lane + j * 32 >= dim) break;
#pragma unroll
    for (unsigned i = 0; i < kTaps; ++i) taps[j][i] = weights.conv[i * channels + channel];
#pragma unroll
    for (unsigned i = 0; i + 1 < kTaps; ++i) past[j][i] = call.history[i * channels + channel];
  }
  for (unsigned row = 0; row < call.rows; ++row) {
    float y[kMostElements];
    float squares = 0;
#pragma unroll
    for (unsigned j = 0; j < kMostElements; ++j) {
      if (lane + j * 32 >= dim) break;
      const float x = call.x[row * channels + first + lane + j * 32];
      float sum = fmaf(taps[j][0], past[j][0], 0.0F);
      sum = fmaf(taps[j][1], past[j][1], sum);
      sum = fmaf(taps[j][2], past[j][2], sum);
      sum = fmaf(taps[j][3], x, sum);
      past[j][0] = past[j][1];
      past[j][1] = past[j][2];
      past[j][2] = x;
      y[j] = sum / (1.0F + expf(-sum));
      squares = fmaf(y[j], y[j], squares);
    }
    float factor = 1;
    if (!is_value)
      factor = (head < shape.key_heads ? weights.query_scale : 1.0F) / sqrtf(warp_sum(squares) + weights.eps);
#pragma unroll
    for (unsigned j = 0; j < kMostElements; ++j) {
      if (lane + j * 32 >= dim) break;
      call.out[row * channels + first + lane + j * 32] = is_value ? y[j] : y[j] * factor;
    }
  }
  // Upwards, so that a row is read before it is overwritten.
  for (unsigned i = 0; i < call.kept; ++i)
    for (unsigned c = first + lane; c < first + dim; c += 32) {
      const unsigned from = i + call.rows;
      call.next_history[i * channels + c] = from < call.kept ? call.next_history[from * channels + c]
                                                             : call.x[(from - call.kept) * channels + c];
    }
  if (is_value && lane < call.rows) {
    const unsigned at = lane * shape.value_heads + head - normed;
    const Gates gates =
        gates_of(call.b[at], call.a[at], weights.a_log[head - normed], weights.dt_bias[head - normed]);
    call.b[at] = gates.beta;
    call.a[at] = gates.log_decay;
  }
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

void delta_inputs_cuda(CudaQueue& queue, const DeltaInputsCuda* calls, std::size_t count,
                       const DeltaShapeCuda& shape, const DeltaInputWeightsCuda& weights) {
  queue.launch(delta_inputs_kernel,
               {blocks_for(2 * shape.key_heads + shape.value_heads, kInputWarps), blocks_for(count, 1)},
               {32 * kInputWarps}, calls, shape, weights);
}

void delta_net_gates_cuda(CudaQueue& queue, float* b, float* a, const float* a_log, const float* dt_bias,
                          std::size_t rows, std::size_t heads) {
  queue.launch(delta_net_gates_kernel, {blocks_for(rows * heads, 128)}, {128}, b, a, a_log, dt_bias,
               rows * heads, heads);
}

}  // namespace lanner::kernels
