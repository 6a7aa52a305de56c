// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "core/buffer.h"
#include "core/thread_pool.h"
#include "device/cpu_kernels.h"

namespace lanner::device {

class CudaDevice;
struct Ops;

/// The order in which one engine's operations run, and what they run with. On the CPU: a thread pool, the
/// kernels bound for its instruction set, and scratch for each thread. Used from one thread at a time.
class Stream {
 public:
  /// For the operations of a table, on whichever device.
  Stream(const Ops& ops, int threads);
  Stream(const CpuKernels& kernels, int threads);

  /// The GPU that the operations are queued on; not set on the CPU.
  CudaDevice& cuda() { return *cuda_; }
  ThreadPool& pool() { return pool_; }
  const CpuKernels& kernels() const { return kernels_; }
  /// Scratch of one pool thread, kept between calls and grown on demand. Contents do not survive an
  /// operation.
  float* scratch(int thread, std::size_t floats);
  /// The same, shared by the threads of one operation.
  std::byte* shared_scratch(std::size_t size_bytes);
  /// Bytes of both.
  std::size_t scratch_bytes() const;

 private:
  Stream(CudaDevice* cuda, const CpuKernels& kernels, int threads);

  CudaDevice* cuda_;
  const CpuKernels& kernels_;
  ThreadPool pool_;
  std::vector<Buffer> scratch_;
  Buffer shared_scratch_;
};

}  // namespace lanner::device
