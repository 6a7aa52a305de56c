// SPDX-License-Identifier: MIT
#include "kernels/cuda/device.cuh"
#include "kernels/delta_net/delta_sums.cuh"

namespace lanner::kernels {
namespace {

constexpr unsigned kThreads = 128;

// One thread per element of the state of a head; blockIdx.x counts key elements.
__global__ void delta_fold_kernel(const DeltaFoldCuda* calls, DeltaShapeCuda shape) {
  begin_kernel();
  const DeltaFoldCuda call = calls[blockIdx.z];
  const unsigned head = blockIdx.y;
  const unsigned d = blockIdx.x;
  const unsigned key_head = head / (shape.value_heads / shape.key_heads);
  const float* gates = call.entry_decay + std::size_t{head} * kChunk;
  __shared__ float weight[kChunk + 1];
  if (threadIdx.x <= call.entries) {
    // Thread e sums the decays after entry e - 1; thread 0 all of them.
    float log_decay = 0;
    for (unsigned j = threadIdx.x; j < call.entries; ++j) log_decay += gates[j];
    const float decay = expf(log_decay);
    weight[threadIdx.x] =
        threadIdx.x == 0
            ? decay
            : decay * call.entry_keys[(std::size_t{key_head} * kChunk + threadIdx.x - 1) * shape.key_dim + d];
  }
  __syncthreads();
  const float* u = call.entry_values + std::size_t{head} * kChunk * shape.value_dim;
  for (unsigned column = threadIdx.x; column < shape.value_dim; column += blockDim.x) {
    const std::size_t at = (std::size_t{head} * shape.key_dim + d) * shape.value_dim + column;
    float sum = weight[0] * call.state[at];
    for (unsigned i = 0; i < call.entries; ++i)
      sum = fmaf(weight[i + 1], u[std::size_t{i} * shape.value_dim + column], sum);
    call.next_state[at] = sum;
  }
}

}  // namespace

void delta_fold_cuda(CudaQueue& queue, const DeltaFoldCuda* calls, std::size_t count,
                     const DeltaShapeCuda& shape) {
  queue.launch(delta_fold_kernel, {shape.key_dim, shape.value_heads, blocks_for(count, 1)}, {kThreads}, calls,
               shape);
}

}  // namespace lanner::kernels
