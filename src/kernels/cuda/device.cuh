// SPDX-License-Identifier: MIT
// For .cu files: what kernels of several families share.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace lanner::kernels {

/// The next kernel may be set up while this one runs (programmatic dependent launch).
__device__ inline void let_next_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Nothing earlier is still running afterwards. What comes before may touch weights alone, what was
/// staged (CudaQueue::stage()), which is copied before the first kernel of a part of a step starts, and what
/// a kernel wrote before the one ahead let this one start; it may ask for anything to come to a cache.
__device__ inline void wait_for_earlier() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// First statement of a kernel that has nothing to do ahead of time.
__device__ inline void begin_kernel() {
  let_next_start();
  wait_for_earlier();
}

/// Sum over a warp in one fixed order; every lane gets it.
__device__ inline float warp_sum(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffU, value, offset);
  return value;
}

__device__ inline float warp_max(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffU, value, offset));
  return value;
}

/// Sum over a block of at most 1024 threads, a multiple of 32; every thread gets it. `shared` holds 32
/// floats.
__device__ inline float block_sum(float value, float* shared) {
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  const float part = threadIdx.x % 32 < blockDim.x / 32 ? shared[threadIdx.x % 32] : 0.0F;
  value = warp_sum(part);
  __syncthreads();
  return value;
}

__device__ inline float block_max(float value, float* shared) {
  value = warp_max(value);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  const float part = threadIdx.x % 32 < blockDim.x / 32 ? shared[threadIdx.x % 32] : -INFINITY;
  value = warp_max(part);
  __syncthreads();
  return value;
}

__device__ inline float bf16_value(std::uint16_t bits) { return __uint_as_float(std::uint32_t{bits} << 16); }

__device__ inline float f16_value(std::uint16_t bits) { return __half2float(__ushort_as_half(bits)); }

}  // namespace lanner::kernels
