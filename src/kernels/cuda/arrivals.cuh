// SPDX-License-Identifier: MIT
// For .cu files: barriers in shared memory at which some threads arrive and others wait. Every lane that
// wrote or read what others wait for arrives itself: one lane behind a __syncwarp() would do, as would
// bar.arrive, but compute-sanitizer's racecheck follows neither.
#pragma once

#include <cstdint>

namespace lanner::kernels {

__device__ inline unsigned shared_address(const void* pointer) {
  return unsigned(__cvta_generic_to_shared(pointer));
}

/// A phase ends when as many have arrived.
__device__ inline void init_barrier(std::uint64_t* barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

__device__ inline void arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

/// Waits for the end of the phase of this parity, 0 first.
__device__ inline void wait_barrier(std::uint64_t* barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
#if __CUDA_ARCH__ >= 900
      "mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
#else
      "mbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n"
#endif
      "@!done bra again;\n"
      "}\n" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}

}  // namespace lanner::kernels
