// SPDX-License-Identifier: MIT
#include "kernels/cuda/device.cuh"
#include "kernels/rope/rope.cuda.h"

namespace lanner::kernels {
namespace {

constexpr unsigned kThreads = 128;

__global__ void rope_tables_kernel(RopeTablesCudaArgs args) {
  begin_kernel();
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= args.rows * args.count) return;
  const std::size_t f = i % args.count;
  const float angle = float(args.positions[i / args.count * 3 + args.axes[f]]) * args.frequencies[f];
  args.cos[i] = cosf(angle) * args.amplitude;
  args.sin[i] = sinf(angle) * args.amplitude;
}

}  // namespace

void rope_tables_cuda(CudaQueue& queue, const RopeTablesCudaArgs& args) {
  queue.launch(rope_tables_kernel, {blocks_for(args.rows * args.count, kThreads)}, {kThreads}, args);
}

}  // namespace lanner::kernels
