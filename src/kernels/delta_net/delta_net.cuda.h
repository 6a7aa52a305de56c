// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kernels/cuda/queue.h"

namespace lanner::kernels {

/// Rows of one sequence inside one 64-position chunk; pointers as in DeltaNetArgs, in device memory.
struct DeltaNetRowsCuda {
  const float* qkv = nullptr;        ///< [rows, q | k | v], q and k normalised
  const float* beta = nullptr;       ///< [rows, value_heads]
  const float* log_decay = nullptr;  ///< [rows, value_heads]
  float* out = nullptr;              ///< [rows, value_heads, value_dim]
  const float* state = nullptr;
  float* entry_keys = nullptr;
  float* entry_values = nullptr;
  float* entry_decay = nullptr;
  unsigned rows = 0;
  unsigned first = 0;
};

struct DeltaShapeCuda {
  unsigned key_heads = 0;
  unsigned value_heads = 0;
  unsigned key_dim = 0;  ///< a multiple of 4, at most 256
  unsigned value_dim = 0;
};

/// delta_net.h for `count` sequences at once; `calls` in device memory, none longer than `rows`. Sums: a dot
/// product of keys in four strands of ascending index, joined in pairs; reads of the state by ascending key
/// index; entries in four strands of ascending index, joined in pairs. batch-invariant: yes. scratch:
/// delta_net_cuda_scratch_bytes().
void delta_net_cuda(CudaQueue& queue, const DeltaNetRowsCuda* calls, std::size_t count, std::size_t rows,
                    const DeltaShapeCuda& shape, float* scratch);
std::size_t delta_net_cuda_scratch_bytes(std::size_t count, const DeltaShapeCuda& shape);

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

}  // namespace lanner::kernels
