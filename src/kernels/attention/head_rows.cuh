// SPDX-License-Identifier: MIT
// For .cu files: a head of a row on its way from its projection to attention, by one warp.
#pragma once

#include "kernels/attention/attention_heads.cuda.h"
#include "kernels/attention/kv_codes.cuh"
#include "kernels/cuda/device.cuh"

namespace lanner::kernels {

/// x / sqrt(mean x² + eps) * gain of one head into `to`.
__device__ inline void norm_head(float* to, const float* x, const float* gain, unsigned dim, float eps) {
  const unsigned lane = threadIdx.x % 32;
  float sum = 0;
  for (unsigned i = lane; i < dim; i += 32) sum = fmaf(x[i], x[i], sum);
  const float scale = 1.0F / sqrtf(warp_sum(sum) / float(dim) + eps);
  for (unsigned i = lane; i < dim; i += 32) to[i] = gain == nullptr ? x[i] * scale : x[i] * scale * gain[i];
  __syncwarp();
}

/// A pair of a head, turned; which product is rounded is not left to the compiler, which chooses anew in each
/// kernel.
__device__ inline float2 turn_pair(float a, float b, float cos, float sin) {
  return {__fmaf_rn(a, cos, -__fmul_rn(b, sin)), __fmaf_rn(b, cos, __fmul_rn(a, sin))};
}

__device__ inline void rotate_head(float* x, const AttentionHeadsCudaArgs& args, unsigned row) {
  for (unsigned j = threadIdx.x % 32; j < args.frequencies; j += 32) {
    const float cos = args.cos[std::size_t{row} * args.frequencies + j];
    const float sin = args.sin[std::size_t{row} * args.frequencies + j];
    const float2 pair = turn_pair(x[j], x[j + args.pair_offset], cos, sin);
    x[j] = pair.x;
    x[j + args.pair_offset] = pair.y;
  }
  __syncwarp();
}

/// A query head, normed and rotated, in x.
__device__ inline void form_query(float* x, const AttentionHeadsCudaArgs& args, unsigned row, unsigned head,
                                  unsigned dim) {
  norm_head(x, args.q + std::size_t{row} * args.q_row + std::size_t{head} * args.q_head, args.q_gain, dim,
            args.q_eps);
  rotate_head(x, args, row);
}

/// A key head, normed and rotated, into the cache; x: room for a head.
__device__ inline void store_key(float* x, const AttentionHeadsCudaArgs& args, unsigned row, unsigned head,
                                 unsigned dim, unsigned bits) {
  norm_head(x, args.k + (std::size_t{row} * args.kv_heads + head) * dim, args.k_gain, dim, args.k_eps);
  rotate_head(x, args, row);
  write_kv_head(args.place[row].key, x, head, dim, args.type, bits);
}

/// Likewise a value head, normed where values are.
__device__ inline void store_value(float* x, const AttentionHeadsCudaArgs& args, unsigned row, unsigned head,
                                   unsigned dim, unsigned bits) {
  const float* from = args.v + (std::size_t{row} * args.kv_heads + head) * dim;
  if (args.norm_values) {
    norm_head(x, from, nullptr, dim, args.v_eps);
    from = x;
  }
  write_kv_head(args.place[row].value, from, head, dim, args.type, bits);
}

}  // namespace lanner::kernels
