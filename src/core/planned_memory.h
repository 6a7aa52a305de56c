// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/memory.h"

namespace lanner {

/// Memory that is counted and never there: what is allocated from it may be sliced and handed on, not read or
/// written. Caches and arenas over it tell what a computation would take. Used from one thread.
class PlannedMemory final : public Memory {
 public:
  /// kind: of the memory it stands for.
  explicit PlannedMemory(DeviceKind kind) : kind_(kind) {}

  DeviceKind kind() const override { return kind_; }
  std::byte* allocate(std::size_t size_bytes) override;
  void release(std::byte* /*data*/, std::size_t size_bytes) noexcept override { used_bytes_ -= size_bytes; }
  void zero(std::byte* /*data*/, std::size_t /*size_bytes*/) override {}
  void copy(std::byte* /*to*/, const std::byte* /*from*/, std::size_t /*size_bytes*/) override {}
  void upload(std::byte* /*to*/, const void* /*from*/, std::size_t /*size_bytes*/) override {}
  void download(void* /*to*/, const std::byte* /*from*/, std::size_t /*size_bytes*/) override {}

  std::size_t used_bytes() const { return used_bytes_; }
  std::size_t peak_bytes() const { return peak_bytes_; }  ///< the most that was ever in use

 private:
  DeviceKind kind_;
  std::size_t used_bytes_ = 0;
  std::size_t peak_bytes_ = 0;
};

}  // namespace lanner
