// SPDX-License-Identifier: MIT
#include "device/cuda_memory.h"

#include <fmt/format.h>

#include "core/error.h"
#include "device/cuda_device.h"
#include "device/cuda_error.h"

namespace lanner::device {
namespace {

// Sizes in steps, so that blocks of nearly the same size serve each other.
std::size_t size_class(std::size_t size_bytes) {
  constexpr std::size_t kSmall = 512;
  constexpr std::size_t kLarge = std::size_t{1} << 20;
  const std::size_t step = size_bytes < kLarge ? kSmall : kLarge / 4;
  return (size_bytes + step - 1) / step * step;
}

}  // namespace

std::byte* CudaMemory::take_spare(std::size_t size_bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = spares_.find(size_bytes);
  if (found == spares_.end() || found->second.empty()) return nullptr;
  std::byte* data = found->second.back();
  found->second.pop_back();
  return data;
}

void CudaMemory::free_spares() {
  device_.synchronize();
  const std::lock_guard lock(mutex_);
  for (auto& [size, blocks] : spares_)
    for (std::byte* data : blocks) cudaFree(data);
  spares_.clear();
}

std::size_t CudaMemory::spare_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& [size, blocks] : spares_) bytes += size * blocks.size();
  return bytes;
}

std::byte* CudaMemory::allocate(std::size_t size_bytes) {
  const std::size_t bytes = size_class(size_bytes);
  if (std::byte* spare = take_spare(bytes)) return spare;
  device_.make_current();
  void* data = nullptr;
  if (cudaMalloc(&data, bytes) == cudaSuccess) return static_cast<std::byte*>(data);
  cudaGetLastError();
  free_spares();
  if (cudaMalloc(&data, bytes) == cudaSuccess) return static_cast<std::byte*>(data);
  cudaGetLastError();
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  cudaMemGetInfo(&free_bytes, &total_bytes);
  throw Error(
      ErrorKind::kOutOfMemory,
      fmt::format("the GPU has no memory for a block of {} bytes: {} of its {} bytes are free; use a smaller "
                  "model or context, or --device cpu",
                  bytes, free_bytes, total_bytes));
}

void CudaMemory::release(std::byte* data, std::size_t size_bytes) noexcept {
  const std::lock_guard lock(mutex_);
  spares_[size_class(size_bytes)].push_back(data);
}

void CudaMemory::zero(std::byte* data, std::size_t size_bytes) {
  device_.flush();
  check_cuda(cudaMemsetAsync(data, 0, size_bytes, device_.stream()), "clearing memory");
}

void CudaMemory::copy(std::byte* to, const std::byte* from, std::size_t size_bytes) {
  device_.flush();
  const bool overlap = to < from + size_bytes && from < to + size_bytes;
  if (overlap) {
    std::byte* between = device_.scratch(size_bytes);
    check_cuda(cudaMemcpyAsync(between, from, size_bytes, cudaMemcpyDeviceToDevice, device_.stream()),
               "copying memory");
    from = between;
  }
  check_cuda(cudaMemcpyAsync(to, from, size_bytes, cudaMemcpyDeviceToDevice, device_.stream()),
             "copying memory");
}

void CudaMemory::upload(std::byte* to, const void* from, std::size_t size_bytes) {
  device_.flush();
  check_cuda(cudaMemcpyAsync(to, from, size_bytes, cudaMemcpyHostToDevice, device_.stream()), "uploading");
  device_.synchronize();
}

void CudaMemory::download(void* to, const std::byte* from, std::size_t size_bytes) {
  device_.flush();
  check_cuda(cudaMemcpyAsync(to, from, size_bytes, cudaMemcpyDeviceToHost, device_.stream()), "downloading");
  device_.synchronize();
}

}  // namespace lanner::device
