// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"
#include "kernels/cuda/queue.h"

namespace lanner::kernels {

/// What one row of queries reads. In device memory; the tables hold device pointers to blocks of 64
/// positions, [kv_heads, 64, head_dim] each, as in attention.h.
struct AttentionRowCuda {
  const void* const* keys = nullptr;  ///< entry b - first_block is block b
  const void* const* values = nullptr;
  std::int32_t first_block = 0;
  std::int32_t begin = 0;  ///< positions [begin, end), never empty
  std::int32_t end = 0;
  std::int32_t padding = 0;
};

/// Keys that are reduced on their own before parts are joined in ascending order, on absolute multiples.
inline constexpr std::size_t kAttentionPart = 256;

/// Attention of rows of any sequences. Per (row, head): blocks of 64 absolute positions by online softmax in
/// float inside parts of 256, then the parts in ascending order, whether one block of threads walks all parts
/// or each part has its own: batch-invariant: yes. head_dim at most 512, q_heads / kv_heads at most 16.
struct AttentionCudaArgs {
  const float* q = nullptr;               ///< [rows, q_heads, head_dim]
  float* out = nullptr;                   ///< [rows, q_heads, head_dim], not q
  const float* gate = nullptr;            ///< row r, head h at (r * q_heads + h) * gate_head; nullptr: none
  std::size_t gate_head = 0;              ///< outputs are multiplied by sigmoid(gate)
  const AttentionRowCuda* row = nullptr;  ///< [rows]
  std::size_t rows = 0;
  std::size_t q_heads = 0;
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;
  float scale = 1;
  DType dtype = DType::kF32;  ///< of keys and values: kF32 or kBF16
  bool one_sequence = true;   ///< rows follow each other in one sequence and may share a pass over its keys
  std::size_t parts = 0;      ///< parts of a row at most
  float* scratch = nullptr;   ///< attention_cuda_scratch_bytes()
};
void attention_cuda(CudaQueue& queue, const AttentionCudaArgs& args);
/// 0 when no scratch is needed.
std::size_t attention_cuda_scratch_bytes(const AttentionCudaArgs& args, int multiprocessors);

/// One row of keys or values and where it goes: `to` is its place in head 0 of its block.
struct KvRowCuda {
  const float* from = nullptr;
  void* to = nullptr;
};
/// Rows in device memory, of kv_heads * head_dim floats; BF16: nearest even.
void write_kv_cuda(CudaQueue& queue, const KvRowCuda* rows, std::size_t count, std::size_t kv_heads,
                   std::size_t head_dim, DType dtype);

}  // namespace lanner::kernels
