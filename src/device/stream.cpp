// SPDX-License-Identifier: MIT
#include "device/stream.h"

#include "device/ops.h"

namespace lanner::device {

Stream::Stream(const Ops& ops, int threads) : Stream(ops.cuda, cpu_kernels(ops.isa), threads) {}

Stream::Stream(const CpuKernels& kernels, int threads) : Stream(nullptr, kernels, threads) {}

Stream::Stream(CudaDevice* cuda, const CpuKernels& kernels, int threads)
    : cuda_(cuda), kernels_(kernels), pool_(threads), scratch_(static_cast<std::size_t>(threads)) {}

float* Stream::scratch(int thread, std::size_t floats) {
  Buffer& buffer = scratch_[static_cast<std::size_t>(thread)];
  if (buffer.size_bytes() < floats * sizeof(float)) buffer = Buffer(floats * sizeof(float));
  return buffer.as<float>();
}

std::byte* Stream::shared_scratch(std::size_t size_bytes) {
  if (shared_scratch_.size_bytes() < size_bytes) shared_scratch_ = Buffer(size_bytes);
  return shared_scratch_.data();
}

std::size_t Stream::scratch_bytes() const {
  std::size_t total = shared_scratch_.size_bytes();
  for (const Buffer& buffer : scratch_) total += buffer.size_bytes();
  return total;
}

}  // namespace lanner::device
