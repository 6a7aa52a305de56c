// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <utility>

#include "core/memory.h"

namespace lanner {

/// Owns a block of one memory, aligned to 64 bytes. Move-only.
class Buffer {
 public:
  static constexpr std::size_t kAlignment = 64;

  Buffer() = default;
  /// Uninitialised bytes; throws Error kOutOfMemory naming the size. Zero bytes give an empty buffer. The
  /// memory must outlive the buffer.
  explicit Buffer(std::size_t size_bytes, Memory& memory = host_memory());
  /// All bytes zero.
  static Buffer zeroed(std::size_t size_bytes, Memory& memory = host_memory());
  ~Buffer();
  Buffer(Buffer&& other) noexcept
      : memory_(other.memory_),
        data_(std::exchange(other.data_, nullptr)),
        size_bytes_(std::exchange(other.size_bytes_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() const { return data_; }
  std::size_t size_bytes() const { return size_bytes_; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  Memory* memory_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace lanner
