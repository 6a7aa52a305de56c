// SPDX-License-Identifier: MIT
#include "kernels/cuda/device.cuh"
#include "kernels/norm/rms_norm.cuda.h"

namespace lanner::kernels {
namespace {

constexpr std::size_t kWarpRow = 1024;
constexpr int kThreads = 1024;

__global__ void rms_norm_warp(float* out, const float* x, const float* w, unsigned rows, unsigned dim,
                              float eps) {
  begin_kernel();
  const unsigned row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  if (row >= rows) return;
  const float* in = x + std::size_t{row} * dim;
  float sum = 0;
  for (unsigned i = lane; i < dim; i += 32) sum = fmaf(in[i], in[i], sum);
  const float scale = 1.0F / sqrtf(warp_sum(sum) / float(dim) + eps);
  for (unsigned i = lane; i < dim; i += 32)
    out[std::size_t{row} * dim + i] = w == nullptr ? in[i] * scale : in[i] * scale * w[i];
}

__global__ void rms_norm_block(float* out, const float* x, const float* w, unsigned dim, float eps) {
  begin_kernel();
  __shared__ float shared[32];
  const float* in = x + std::size_t{blockIdx.x} * dim;
  float sum = 0;
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < dim; i += blockDim.x) sum = fmaf(in[i], in[i], sum);
  const float scale = 1.0F / sqrtf(block_sum(sum, shared) / float(dim) + eps);
  for (unsigned i = threadIdx.x; i < dim; i += blockDim.x)
    out[std::size_t{blockIdx.x} * dim + i] = w == nullptr ? in[i] * scale : in[i] * scale * w[i];
}

__global__ void add_norm_block(AddNormCudaArgs args) {
  begin_kernel();
  __shared__ float shared[32];
  const unsigned dim = unsigned(args.dim);
  const std::size_t first = std::size_t{blockIdx.x} * dim;
  float sum = 0;
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < dim; i += blockDim.x)
    sum = fmaf(args.y[first + i], args.y[first + i], sum);
  const float scale = 1.0F / sqrtf(block_sum(sum, shared) / float(dim) + args.eps);
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < dim; i += blockDim.x)
    args.out[first + i] =
        __fadd_rn(args.x[first + i], __fmul_rn(args.y[first + i] * scale, args.gain[i])) * args.factor;
}

__global__ void add_norms_block(AddNormsCudaArgs args) {
  begin_kernel();
  __shared__ float2 shared[32];
  const unsigned dim = unsigned(args.dim);
  const std::size_t first = std::size_t{blockIdx.x} * dim;
  float2 part = {};
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < dim; i += blockDim.x) {
    const float x = args.x[first + i];
    const float y = args.y[first + i];
    part.x = fmaf(x, x, part.x);
    part.y = fmaf(y, y, part.y);
  }
  part = {warp_sum(part.x), warp_sum(part.y)};
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = part;
  __syncthreads();
  const float2 sums = shared[threadIdx.x % 32];
  const float x_scale = 1.0F / sqrtf(warp_sum(sums.x) / float(dim) + args.x_eps);
  const float y_scale = 1.0F / sqrtf(warp_sum(sums.y) / float(dim) + args.y_eps);
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < dim; i += blockDim.x)
    args.out[first + i] = __fadd_rn(__fmul_rn(args.x[first + i] * x_scale, args.x_gain[i]),
                                    __fmul_rn(args.y[first + i] * y_scale, args.y_gain[i]));
}

__global__ void l2_norm_warp(L2NormCudaArgs args) {
  begin_kernel();
  const unsigned heads = unsigned(args.count / args.dim);
  const unsigned item = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  if (item >= args.rows * heads) return;
  float* x = args.x + item / heads * args.stride + args.begin + item % heads * args.dim;
  float sum = 0;
  for (unsigned i = lane; i < args.dim; i += 32) sum = fmaf(x[i], x[i], sum);
  const float factor = args.scale / sqrtf(warp_sum(sum) + args.eps);
  for (unsigned i = lane; i < args.dim; i += 32) x[i] *= factor;
}

__global__ void gated_rms_norm_warp(GatedRmsNormCudaArgs args) {
  begin_kernel();
  const unsigned row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  if (row >= args.rows) return;
  const std::size_t first = row * args.dim;
  float sum = 0;
  for (unsigned i = lane; i < args.dim; i += 32) sum = fmaf(args.x[first + i], args.x[first + i], sum);
  const float scale = 1.0F / sqrtf(warp_sum(sum) / float(args.dim) + args.eps);
  for (unsigned i = lane; i < args.dim; i += 32) {
    const float z = args.z[first + i];
    args.out[first + i] = args.x[first + i] * scale * args.w[i] * (z / (1.0F + expf(-z)));
  }
}

}  // namespace

void rms_norm_cuda(CudaQueue& queue, float* out, const float* x, const float* w, std::size_t rows,
                   std::size_t dim, float eps) {
  if (dim <= kWarpRow)
    queue.launch(rms_norm_warp, {blocks_for(rows, 4)}, {128}, out, x, w, rows, dim, eps);
  else
    queue.launch(rms_norm_block, {blocks_for(rows, 1)}, {kThreads}, out, x, w, dim, eps);
}

void add_norm_cuda(CudaQueue& queue, const AddNormCudaArgs& args) {
  queue.launch(add_norm_block, {blocks_for(args.rows, 1)}, {kThreads}, args);
}

void add_norms_cuda(CudaQueue& queue, const AddNormsCudaArgs& args) {
  queue.launch(add_norms_block, {blocks_for(args.rows, 1)}, {kThreads}, args);
}

void l2_norm_cuda(CudaQueue& queue, const L2NormCudaArgs& args) {
  queue.launch(l2_norm_warp, {blocks_for(args.rows * (args.count / args.dim), 4)}, {128}, args);
}

void gated_rms_norm_cuda(CudaQueue& queue, const GatedRmsNormCudaArgs& args) {
  queue.launch(gated_rms_norm_warp, {blocks_for(args.rows, 4)}, {128}, args);
}

}  // namespace lanner::kernels
