// SPDX-License-Identifier: MIT
#include "kernels/attention/attention.h"
#include "kernels/attention/head_rows.cuh"

namespace lanner::kernels {
namespace {

constexpr unsigned kWarps = 4;
constexpr unsigned kMostDim = 512;

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
    form_query(x, args, row, head, args.head_dim);
    float* to = args.q_out + (std::size_t{row} * args.q_heads + head) * args.head_dim;
    for (unsigned i = threadIdx.x % 32; i < args.head_dim; i += 32) to[i] = x[i];
    return;
  }
  head -= args.q_heads;
  if (head < args.kv_heads)
    store_key(x, args, row, head, args.head_dim, bits);
  else
    store_value(x, args, row, head - args.kv_heads, args.head_dim, bits);
}

}  // namespace

void attention_heads_cuda(CudaQueue& queue, const AttentionHeadsCudaArgs& args) {
  const std::size_t heads = args.q_heads + (args.k == nullptr ? 0 : 2 * std::size_t{args.kv_heads});
  queue.launch(attention_heads_kernel, {blocks_for(args.rows * heads, kWarps)}, {32 * kWarps}, args,
               unsigned(code_bits(args.type)));
}

}  // namespace lanner::kernels
