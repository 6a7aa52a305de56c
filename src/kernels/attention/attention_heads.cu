// SPDX-License-Identifier: MIT
#include "kernels/attention/attention.h"
#include "kernels/attention/attention_heads.cuda.h"
#include "kernels/attention/kv_codes.cuh"

namespace lanner::kernels {
namespace {

constexpr unsigned kWarps = 4;
constexpr unsigned kMostDim = 512;

/// x / sqrt(mean x² + eps) * gain of one head into `to`.
__device__ void norm_head(float* to, const float* x, const float* gain, unsigned dim, float eps) {
  const unsigned lane = threadIdx.x % 32;
  float sum = 0;
  for (unsigned i = lane; i < dim; i += 32) sum = fmaf(x[i], x[i], sum);
  const float scale = 1.0F / sqrtf(warp_sum(sum) / float(dim) + eps);
  for (unsigned i = lane; i < dim; i += 32) to[i] = gain == nullptr ? x[i] * scale : x[i] * scale * gain[i];
  __syncwarp();
}

__device__ void rotate_head(float* x, const AttentionHeadsCudaArgs& args, unsigned row) {
  for (unsigned j = threadIdx.x % 32; j < args.frequencies; j += 32) {
    const float cos = args.cos[std::size_t{row} * args.frequencies + j];
    const float sin = args.sin[std::size_t{row} * args.frequencies + j];
    const float a = x[j];
    const float b = x[j + args.pair_offset];
    x[j] = a * cos - b * sin;
    x[j + args.pair_offset] = b * cos + a * sin;
  }
  __syncwarp();
}

// One warp per (row, head): queries, then keys, then values.
__global__ void attention_heads_kernel(AttentionHeadsCudaArgs args, unsigned bits) {
  begin_kernel();
  __shared__ float shared[kWarps][kMostDim];
  const unsigned heads = args.q_heads + (args.k == nullptr ? 0 : 2 * args.kv_heads);
  const unsigned item = blockIdx.x * kWarps + threadIdx.x / 32;
  const unsigned row = item / heads;
  unsigned head = item % heads;
  if (row >= args.rows) return;
  float* x = shared[threadIdx.x / 32];
  if (head < args.q_heads) {
    norm_head(x, args.q + std::size_t{row} * args.q_row + std::size_t{head} * args.q_head, args.q_gain,
              args.head_dim, args.q_eps);
    rotate_head(x, args, row);
    float* to = args.q_out + (std::size_t{row} * args.q_heads + head) * args.head_dim;
    for (unsigned i = threadIdx.x % 32; i < args.head_dim; i += 32) to[i] = x[i];
    return;
  }
  head -= args.q_heads;
  const bool is_key = head < args.kv_heads;
  if (!is_key) head -= args.kv_heads;
  const float* from = (is_key ? args.k : args.v) + (std::size_t{row} * args.kv_heads + head) * args.head_dim;
  if (is_key) {
    norm_head(x, from, args.k_gain, args.head_dim, args.k_eps);
    rotate_head(x, args, row);
    write_kv_head(args.place[row].key, x, head, args.head_dim, args.type, bits);
  } else if (args.norm_values) {
    norm_head(x, from, nullptr, args.head_dim, args.v_eps);
    write_kv_head(args.place[row].value, x, head, args.head_dim, args.type, bits);
  } else {
    write_kv_head(args.place[row].value, from, head, args.head_dim, args.type, bits);
  }
}

}  // namespace

void attention_heads_cuda(CudaQueue& queue, const AttentionHeadsCudaArgs& args) {
  const std::size_t heads = args.q_heads + (args.k == nullptr ? 0 : 2 * std::size_t{args.kv_heads});
  queue.launch(attention_heads_kernel, {blocks_for(args.rows * heads, kWarps)}, {32 * kWarps}, args,
               unsigned(code_bits(args.type)));
}

}  // namespace lanner::kernels
