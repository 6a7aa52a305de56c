// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kernels/cuda/queue.h"

namespace lanner::kernels {

/// Rows of one sequence; pointers as in DeltaNetArgs, in device memory.
struct DeltaNetRowsCuda {
  const float* qkv = nullptr;        ///< [rows, q | k | v], q and k normalised
  const float* beta = nullptr;       ///< [rows, value_heads]
  const float* log_decay = nullptr;  ///< [rows, value_heads]
  const float* z = nullptr;          ///< [rows, value_heads, value_dim], of delta_mix_cuda() alone
  float* out = nullptr;              ///< [rows, value_heads, value_dim]
  const float* state = nullptr;
  float* next_state =
      nullptr;  ///< where full chunks are folded to, may be state; nullptr: rows end in this chunk
  float* entry_keys = nullptr;
  float* entry_values = nullptr;
  float* entry_decay = nullptr;
  unsigned rows = 0;
  unsigned first = 0;
};

struct DeltaShapeCuda {
  unsigned key_heads = 0;
  unsigned value_heads = 0;
  unsigned key_dim = 0;         ///< a multiple of 4, at most 128
  unsigned value_dim = 0;       ///< at most 128
  const float* gain = nullptr;  ///< [value_dim] of the outputs' norm, for delta_mix_cuda()
  float eps = 0;
};

/// Most rows of a sequence that delta_step_cuda() and delta_mix_cuda() take.
inline constexpr unsigned kDeltaStepRows = 8;

/// delta_net.h for `count` sequences at once, `calls` in device memory. Sums, per row and head, whichever of
/// the two ran it: over key elements in blocks of 32 ascending ones, over entries in blocks of 16, blocks in
/// ascending order; decays from the entry on upwards.
/// batch-invariant: yes.
/// Few rows, all in the open chunk: one block of threads per head.
void delta_step_cuda(CudaQueue& queue, const DeltaNetRowsCuda* calls, std::size_t count,
                     const DeltaShapeCuda& shape);
/// Any rows, `most` of a sequence at most, through as many chunks as they fill. scratch:
/// delta_run_cuda_scratch_bytes().
void delta_run_cuda(CudaQueue& queue, const DeltaNetRowsCuda* calls, std::size_t count, std::size_t most,
                    const DeltaShapeCuda& shape, float* scratch);
std::size_t delta_run_cuda_scratch_bytes(std::size_t count, std::size_t most, const DeltaShapeCuda& shape);

/// delta_fold() for `count` sequences at once; next_state may be state.
struct DeltaFoldCuda {
  const float* state = nullptr;
  float* next_state = nullptr;
  const float* entry_keys = nullptr;
  const float* entry_values = nullptr;
  const float* entry_decay = nullptr;
  unsigned entries = 0;
  unsigned padding = 0;
};
void delta_fold_cuda(CudaQueue& queue, const DeltaFoldCuda* calls, std::size_t count,
                     const DeltaShapeCuda& shape);

/// The contract of delta_net_gates() in float.
void delta_net_gates_cuda(CudaQueue& queue, float* b, float* a, const float* a_log, const float* dt_bias,
                          std::size_t rows, std::size_t heads);

/// causal_conv.h for `count` sequences at once, `rows` the longest; then history becomes its last rows.
struct CausalConvCuda {
  const float* x = nullptr;  ///< [rows, channels]
  const float* history = nullptr;
  float* out = nullptr;
  unsigned rows = 0;
  unsigned padding = 0;
};
void causal_conv_cuda(CudaQueue& queue, const CausalConvCuda* calls, std::size_t count, std::size_t rows,
                      std::size_t channels, const float* w, std::size_t taps);

/// A few rows of one sequence from their projections through convolution, history, norms of queries and keys,
/// gates, delta rule and gated norm.
struct DeltaMixCuda {
  DeltaNetRowsCuda rows;           ///< with z; beta and log_decay are b and a before
  const float* x = nullptr;        ///< [rows, q | k | v]
  const float* history = nullptr;  ///< [3, channels]
  float* next_history = nullptr;   ///< [kept, channels]: HistoryPush's last, 3 or as many as `rows`
  float* qkv = nullptr;            ///< rows.qkv, which is written, as are:
  float* beta = nullptr;           ///< [rows, value_heads]
  float* log_decay = nullptr;      ///< [rows, value_heads]
  std::size_t kept = 0;
};
struct DeltaMixWeightsCuda {
  const float* conv = nullptr;     ///< [4, channels]
  const float* a_log = nullptr;    ///< [value_heads]
  const float* dt_bias = nullptr;  ///< [value_heads]
  float eps = 0;                   ///< of the norms of queries and keys
  float query_scale = 1;           ///< of normed queries
};
/// Four taps. To the same bits as causal_conv_cuda(), push_history_cuda(), l2_norm_cuda(),
/// delta_net_gates_cuda(), delta_step_cuda() and gated_rms_norm_cuda() one after the other.
void delta_mix_cuda(CudaQueue& queue, const DeltaMixCuda* calls, std::size_t count,
                    const DeltaShapeCuda& shape, const DeltaMixWeightsCuda& weights);
/// Its part ahead of the delta rule, for many sequences.
void delta_inputs_cuda(CudaQueue& queue, const DeltaMixCuda* calls, std::size_t count,
                       const DeltaShapeCuda& shape, const DeltaMixWeightsCuda& weights);

}  // namespace lanner::kernels
