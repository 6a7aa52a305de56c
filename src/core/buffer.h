// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <utility>

namespace lanner {

/// Owns a block of CPU memory aligned to 64 bytes. Move-only.
class Buffer {
 public:
  static constexpr std::size_t kAlignment = 64;

  Buffer() = default;
  /// Uninitialised bytes; throws Error kOutOfMemory naming the size. Zero bytes give an empty buffer.
  explicit Buffer(std::size_t size_bytes);
  /// All bytes zero.
  static Buffer zeroed(std::size_t size_bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
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
  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace lanner
