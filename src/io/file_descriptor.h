// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <utility>

namespace lanner::io {

/// Owns an open POSIX file descriptor. Move-only; -1 means none.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int value) : value_(value) {}
  ~FileDescriptor() {
    if (value_ >= 0) ::close(value_);
  }
  FileDescriptor(FileDescriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  int get() const { return value_; }
  bool is_open() const { return value_ >= 0; }
  /// Gives the descriptor up to a caller that closes it and looks at the result.
  int release() { return std::exchange(value_, -1); }

 private:
  int value_ = -1;
};

}  // namespace lanner::io
