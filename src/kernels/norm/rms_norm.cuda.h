// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kernels/cuda/queue.h"

namespace lanner::kernels {

// The contracts of rms_norm.h on device memory. A row is summed by one warp (at most 1024 elements) or one
// block, in an order that depends on its length only: batch-invariant: yes.

/// w may be nullptr: no gain. out may be x.
void rms_norm_cuda(CudaQueue& queue, float* out, const float* x, const float* w, std::size_t rows,
                   std::size_t dim, float eps);
/// out = (x + norm(y) * gain) * factor; out may be x.
struct AddNormCudaArgs {
  float* out = nullptr;
  const float* x = nullptr;
  const float* y = nullptr;
  const float* gain = nullptr;
  std::size_t rows = 0;
  std::size_t dim = 0;
  float eps = 0;
  float factor = 1;
};
void add_norm_cuda(CudaQueue& queue, const AddNormCudaArgs& args);
/// out = norm(x) * x_gain + norm(y) * y_gain; out may be either. One block sums a row of any length.
struct AddNormsCudaArgs {
  float* out = nullptr;
  const float* x = nullptr;
  const float* y = nullptr;
  const float* x_gain = nullptr;
  const float* y_gain = nullptr;
  std::size_t rows = 0;
  std::size_t dim = 0;
  float x_eps = 0;
  float y_eps = 0;
};
void add_norms_cuda(CudaQueue& queue, const AddNormsCudaArgs& args);
/// Heads [begin, begin + count) / dim of every row of x [rows, stride], in place, times scale.
struct L2NormCudaArgs {
  float* x = nullptr;
  std::size_t rows = 0;
  std::size_t stride = 0;
  std::size_t begin = 0;
  std::size_t count = 0;
  std::size_t dim = 0;
  float eps = 0;
  float scale = 1;
};
void l2_norm_cuda(CudaQueue& queue, const L2NormCudaArgs& args);

struct GatedRmsNormCudaArgs {
  float* out = nullptr;
  const float* x = nullptr;
  const float* z = nullptr;
  const float* w = nullptr;
  std::size_t rows = 0;
  std::size_t dim = 0;
  float eps = 0;
};
void gated_rms_norm_cuda(CudaQueue& queue, const GatedRmsNormCudaArgs& args);

}  // namespace lanner::kernels
