// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "core/tensor.h"

namespace lanner {

/// Where owners get their bytes: this machine's memory, or a device's. All calls of one Memory take effect in
/// the order they are made, before operations started later on the same device.
class Memory {
 public:
  virtual ~Memory() = default;

  virtual DeviceKind kind() const = 0;
  /// Uninitialised bytes aligned to 64 at least; throws Error kOutOfMemory naming the size.
  virtual std::byte* allocate(std::size_t size_bytes) = 0;
  virtual void release(std::byte* data, std::size_t size_bytes) noexcept = 0;
  virtual void zero(std::byte* data, std::size_t size_bytes) = 0;
  /// Copies inside this memory; the ranges may overlap.
  virtual void copy(std::byte* to, const std::byte* from, std::size_t size_bytes) = 0;
  /// Copies from the host to this memory, and back; done when they return.
  virtual void upload(std::byte* to, const void* from, std::size_t size_bytes) = 0;
  virtual void download(void* to, const std::byte* from, std::size_t size_bytes) = 0;
};

/// The memory of this machine's CPU. Calls may come from any thread.
Memory& host_memory();

}  // namespace lanner
