// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/queue.h"

namespace lanner::kernels {

// The contracts of elementwise.h over `count` elements of device memory. batch-invariant: yes.
void add_cuda(CudaQueue& queue, float* out, const float* a, const float* b, std::size_t count);
void scale_cuda(CudaQueue& queue, float* out, const float* x, float factor, std::size_t count);
void gelu_mul_cuda(CudaQueue& queue, float* out, const float* gate, const float* up, std::size_t count);
void silu_mul_cuda(CudaQueue& queue, float* out, const float* gate, const float* up, std::size_t count);
void softcap_cuda(CudaQueue& queue, float* out, const float* x, float cap, std::size_t count);
/// out[t] = x[t] * sigmoid(gate[t]) for rows of `columns`.
void gate_rows_cuda(CudaQueue& queue, float* out, const float* x, const float* gate, std::size_t rows,
                    std::size_t columns);

/// out[i] = x[source[i]] for `rows` rows of `columns`; source in device memory.
void take_rows_cuda(CudaQueue& queue, float* out, const float* x, const std::uint32_t* source,
                    std::size_t rows, std::size_t columns);
/// out[b, a] = x[a, b]; extents A, B, D of x
void swap_axes_cuda(CudaQueue& queue, float* out, const float* x, const std::array<std::size_t, 3>& extents);
/// history [kept, channels] becomes the last `kept` rows of history followed by x [rows, channels].
struct HistoryPushCuda {
  float* history = nullptr;
  const float* x = nullptr;
  std::uint32_t kept = 0;
  std::uint32_t rows = 0;
};
/// Pushes in device memory.
void push_history_cuda(CudaQueue& queue, const HistoryPushCuda* pushes, std::size_t count,
                       std::size_t channels);
/// out[t] = index of the largest of row t, ties: the lowest. A NaN is never the largest.
/// scratch: rows * kArgmaxParts * 8 bytes.
void argmax_cuda(CudaQueue& queue, std::int32_t* out, const float* x, std::size_t rows, std::size_t columns,
                 void* scratch);
inline constexpr std::uint32_t kArgmaxParts = 64;
/// out = x
void copy_cuda(CudaQueue& queue, float* out, const float* x, std::size_t count);

}  // namespace lanner::kernels
