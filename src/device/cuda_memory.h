// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "core/memory.h"

namespace lanner::device {

class CudaDevice;

/// The memory of one GPU. What is released is kept for the next request of its size: every use runs on one
/// stream in the order it was asked for, so a block can be handed on while kernels that read it still wait.
/// release() and spare_bytes() may come from any thread, the rest from the device's own.
class CudaMemory final : public Memory {
 public:
  explicit CudaMemory(CudaDevice& device) : device_(device) {}

  DeviceKind kind() const override { return DeviceKind::kCuda; }
  std::byte* allocate(std::size_t size_bytes) override;
  void release(std::byte* data, std::size_t size_bytes) noexcept override;
  void zero(std::byte* data, std::size_t size_bytes) override;
  void copy(std::byte* to, const std::byte* from, std::size_t size_bytes) override;
  void upload(std::byte* to, const void* from, std::size_t size_bytes) override;
  void download(void* to, const std::byte* from, std::size_t size_bytes) override;
  /// Bytes kept for later requests; they go back to the card when one finds no room.
  std::size_t spare_bytes() const;

 private:
  std::byte* take_spare(std::size_t size_bytes);
  void free_spares();

  CudaDevice& device_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<std::byte*>> spares_;
};

}  // namespace lanner::device
