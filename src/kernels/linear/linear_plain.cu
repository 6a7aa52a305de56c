// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/linear/linear.cuda.h"
#include "kernels/linear/weight_element.cuh"

namespace lanner::kernels {
namespace {

constexpr unsigned kRows = 8;
constexpr unsigned kWarps = 4;

// One warp per output and 8 input rows: a weight is widened once for all of them.
__global__ void linear_plain_kernel(float* out, const float* x, unsigned rows, WeightView w) {
  begin_kernel();
  const std::size_t n = std::size_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  const unsigned first = blockIdx.y * kRows;
  if (n >= w.rows) return;
  const unsigned count = min(kRows, rows - first);
  float sums[kRows] = {};
  for (std::size_t k = lane; k < w.columns; k += 32) {
    const float weight = element_at(w, n, k);
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r)
      if (r < count) sums[r] = fmaf(x[(first + r) * w.columns + k], weight, sums[r]);
  }
#pragma unroll
  for (unsigned r = 0; r < kRows; ++r) {
    const float sum = warp_sum(sums[r]);
    if (r < count && lane == 0) out[(first + r) * w.rows + n] = sum;
  }
}

__global__ void embed_plain_kernel(float* out, const std::int32_t* ids, WeightView w, float scale) {
  begin_kernel();
  const std::size_t k = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (k < w.columns) out[blockIdx.y * w.columns + k] = element_at(w, std::size_t(ids[blockIdx.y]), k) * scale;
}

}  // namespace

void linear_plain_cuda(CudaQueue& queue, float* out, const float* x, std::size_t rows, const WeightView& w) {
  queue.launch(linear_plain_kernel, {blocks_for(w.rows, kWarps), blocks_for(rows, kRows)}, {32 * kWarps}, out,
               x, rows, w);
}

void embed_plain_cuda(CudaQueue& queue, float* out, const std::int32_t* ids, std::size_t rows,
                      const WeightView& w, float scale) {
  queue.launch(embed_plain_kernel, {blocks_for(w.columns, 256), blocks_for(rows, 1)}, {256}, out, ids, w,
               scale);
}

}  // namespace lanner::kernels
