// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention/kv_type.h"
#include "kernels/cuda/queue.h"

namespace lanner::kernels {

/// What one row of queries reads. In device memory; the tables hold device pointers to blocks of 64
/// positions, as KvLayout says.
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
  KvType type = KvType::kF32;  ///< of keys and values; codes are read as they are
  unsigned bits = 0;           ///< of codes
  bool one_sequence = true;    ///< rows follow each other in one sequence and may share a pass over its keys
  std::size_t parts = 0;       ///< parts of a row at most
  float* scratch = nullptr;    ///< attention_cuda_scratch_bytes()
};
void attention_cuda(CudaQueue& queue, const AttentionCudaArgs& args);
/// 0 when no scratch is needed.
std::size_t attention_cuda_scratch_bytes(const AttentionCudaArgs& args, int multiprocessors);

/// Where a row of keys or values goes: position `place` of a block.
struct KvPlaceCuda {
  void* block = nullptr;
  std::uint32_t place = 0;
  std::uint32_t padding = 0;
};
struct KvRowCuda {
  const float* from = nullptr;  ///< [kv_heads, head_dim]
  KvPlaceCuda to;
};
/// Rows in device memory, stored to the bits of write_kv_rows().
void write_kv_cuda(CudaQueue& queue, const KvRowCuda* rows, std::size_t count, std::size_t kv_heads,
                   std::size_t head_dim, KvType type);

}  // namespace lanner::kernels
