// SPDX-License-Identifier: MIT
// For .cu files: copies of whole runs of memory into shared memory that one thread asks for and a warp waits
// for.
#pragma once

#include "kernels/cuda/arrivals.cuh"

namespace lanner::kernels {

#if __CUDA_ARCH__ >= 900

/// Once after the barriers of a thread are initialised.
__device__ inline void fence_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// The barrier's next phase ends when this many bytes have been copied.
__device__ inline void expect_bytes(std::uint64_t* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
}

/// Addresses and bytes: multiples of 16.
__device__ inline void copy_bulk(void* to, const void* from, unsigned bytes, std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}

/// What this thread wrote may be overwritten by copies that are asked for behind a barrier.
__device__ inline void fence_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/// Waits for the copies of the barrier's phase of this parity, 0 first.
__device__ inline void wait_bulk(std::uint64_t* barrier, unsigned parity) { wait_barrier(barrier, parity); }

#else

// Cards without such copies: the asking thread copies at once.
__device__ inline void fence_barriers() {}
__device__ inline void expect_bytes(std::uint64_t* /*barrier*/, unsigned /*bytes*/) {}
__device__ inline void copy_bulk(void* to, const void* from, unsigned bytes, std::uint64_t* /*barrier*/) {
  for (unsigned i = 0; i < bytes / 16; ++i)
    static_cast<uint4*>(to)[i] = __ldg(static_cast<const uint4*>(from) + i);
}
__device__ inline void fence_copies() {}
__device__ inline void wait_bulk(std::uint64_t* /*barrier*/, unsigned /*parity*/) { __syncwarp(); }

#endif

}  // namespace lanner::kernels
