// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention/attention.cuda.h"
#include "kernels/cuda/queue.h"
#include "kernels/rope/rope.h"

namespace lanner::kernels {

/// Where the keys and values of one row go.
struct KvPlacesCuda {
  KvPlaceCuda key;
  KvPlaceCuda value;
};

/// Projections of rows on their way to attention: RMS norm per head as rms_norm_cuda() and rotation as
/// RopeFn, then keys and values into their cache as write_kv_cuda(); the first and the last to the same bits.
struct AttentionHeadsCudaArgs {
  const float* q = nullptr;             ///< row r, head h at r * q_row + h * q_head
  const float* k = nullptr;             ///< [rows, kv_heads, head_dim]; nullptr: queries only
  const float* v = nullptr;             ///< likewise; may be k
  float* q_out = nullptr;               ///< [rows, q_heads, head_dim]
  const KvPlacesCuda* place = nullptr;  ///< [rows]
  const float* q_gain = nullptr;        ///< [head_dim]
  const float* k_gain = nullptr;
  const float* cos = nullptr;  ///< [rows, frequencies]
  const float* sin = nullptr;
  std::uint32_t rows = 0;
  std::uint32_t q_row = 0;
  std::uint32_t q_head = 0;
  std::uint32_t q_heads = 0;
  std::uint32_t kv_heads = 0;  ///< of k and v
  std::uint32_t head_dim = 0;  ///< at most 512
  std::uint32_t frequencies = 0;
  std::uint32_t pair_offset = 0;
  float q_eps = 0;
  float k_eps = 0;
  float v_eps = 0;
  bool norm_values = false;    ///< without gain
  KvType type = KvType::kF32;  ///< of keys and values in the cache
};
void attention_heads_cuda(CudaQueue& queue, const AttentionHeadsCudaArgs& args);

/// attention_heads_cuda(), whose q_out is not written, and attention_cuda(), whose q is not read, in one go
/// and to their bits: for rows that are each the last of their own sequence.
void attend_heads_cuda(CudaQueue& queue, const AttentionHeadsCudaArgs& heads,
                       const AttentionCudaArgs& attention);
/// True when it takes these.
bool can_attend_heads(const AttentionHeadsCudaArgs& heads, const AttentionCudaArgs& attention);

}  // namespace lanner::kernels
