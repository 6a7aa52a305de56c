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

__global__ void rope_kernel(float* x, const float* cos, const float* sin, std::size_t count,
                            RopeShape shape) {
  begin_kernel();
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const std::size_t j = i % shape.frequencies;
  const std::size_t head = i / shape.frequencies;
  const std::size_t at = head / shape.heads * shape.frequencies + j;
  float* first = x + head * shape.head_dim + j;
  float* second = first + shape.pair_offset;
  const float a = *first;
  const float b = *second;
  *first = a * cos[at] - b * sin[at];
  *second = b * cos[at] + a * sin[at];
}

}  // namespace

void rope_tables_cuda(CudaQueue& queue, const RopeTablesCudaArgs& args) {
  queue.launch(rope_tables_kernel, {blocks_for(args.rows * args.count, kThreads)}, {kThreads}, args);
}

void rope_cuda(CudaQueue& queue, float* x, const float* cos, const float* sin, std::size_t rows,
               const RopeShape& shape) {
  const std::size_t count = rows * shape.heads * shape.frequencies;
  queue.launch(rope_kernel, {blocks_for(count, kThreads)}, {kThreads}, x, cos, sin, count, shape);
}

}  // namespace lanner::kernels
