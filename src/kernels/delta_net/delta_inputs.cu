// SPDX-License-Identifier: MIT
#include "kernels/delta_net/delta_inputs.cuh"
#include "kernels/delta_net/delta_net.cuda.h"

namespace lanner::kernels {
namespace {

constexpr unsigned kMostElements = 4;  // of a lane: heads of at most 128
constexpr unsigned kWarps = 4;

// One warp per (head, sequence): queries first, then keys, then values.
__global__ void delta_inputs_kernel(const DeltaMixCuda* calls, DeltaShapeCuda shape,
                                    DeltaMixWeightsCuda weights) {
  begin_kernel();
  const DeltaMixCuda call = calls[blockIdx.y];
  const unsigned rows = call.rows.rows;
  const unsigned head = blockIdx.x * kWarps + threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  const unsigned normed = 2 * shape.key_heads;
  if (head >= normed + shape.value_heads) return;
  const bool is_value = head >= normed;
  const unsigned dim = is_value ? shape.value_dim : shape.key_dim;
  const unsigned first =
      is_value ? normed * shape.key_dim + (head - normed) * shape.value_dim : head * shape.key_dim;
  const std::size_t channels = std::size_t{normed} * shape.key_dim + shape.value_heads * shape.value_dim;
  ConvChannel conv[kMostElements];
#pragma unroll
  for (unsigned j = 0; j < kMostElements; ++j) {
    const std::size_t channel = first + lane + j * 32;
    if (lane + j * 32 >= dim) break;
#pragma unroll
    for (unsigned i = 0; i < kTaps; ++i) conv[j].taps[i] = weights.conv[i * channels + channel];
#pragma unroll
    for (unsigned i = 0; i + 1 < kTaps; ++i) conv[j].past[i] = call.history[i * channels + channel];
  }
  for (unsigned row = 0; row < rows; ++row) {
    float y[kMostElements];
    float squares = 0;
#pragma unroll
    for (unsigned j = 0; j < kMostElements; ++j) {
      if (lane + j * 32 >= dim) break;
      y[j] = conv[j].next(call.x[row * channels + first + lane + j * 32]);
      squares = fmaf(y[j], y[j], squares);
    }
    float factor = 1;
    if (!is_value)
      factor = (head < shape.key_heads ? weights.query_scale : 1.0F) / sqrtf(warp_sum(squares) + weights.eps);
#pragma unroll
    for (unsigned j = 0; j < kMostElements; ++j) {
      if (lane + j * 32 >= dim) break;
      call.qkv[row * channels + first + lane + j * 32] = is_value ? y[j] : y[j] * factor;
    }
  }
#pragma unroll
  for (unsigned j = 0; j < kMostElements; ++j) {
    if (lane + j * 32 >= dim) break;
    conv[j].keep(call, channels, first + lane + j * 32);
  }
  if (is_value && lane < rows) {
    const unsigned at = lane * shape.value_heads + head - normed;
    const Gates gates = gates_of(call.beta[at], call.log_decay[at], weights.a_log[head - normed],
                                 weights.dt_bias[head - normed]);
    call.beta[at] = gates.beta;
    call.log_decay[at] = gates.log_decay;
  }
}

}  // namespace

void delta_inputs_cuda(CudaQueue& queue, const DeltaMixCuda* calls, std::size_t count,
                       const DeltaShapeCuda& shape, const DeltaMixWeightsCuda& weights) {
  queue.launch(delta_inputs_kernel,
               {blocks_for(2 * shape.key_heads + shape.value_heads, kWarps), blocks_for(count, 1)},
               {32 * kWarps}, calls, shape, weights);
}

}  // namespace lanner::kernels
