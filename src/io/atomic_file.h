// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "io/file_descriptor.h"

namespace lanner::io {

/// Writes a file that appears under its name complete or not at all: bytes go to a temporary neighbour,
/// commit() flushes it to disk and renames it over the target. Without commit() (an exception) the temporary
/// is removed and an older target stays. What killed processes left of the same target is removed first. All
/// members throw Error kIo naming the target; a full disk is named as such.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& target);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::filesystem::path& target() const { return target_; }

  /// Claims disk space up front, so that a disk too small is reported before hours of work. Does nothing on
  /// file systems that cannot.
  void reserve(std::uint64_t size_bytes);
  /// Appends after everything appended so far.
  void append(std::span<const std::byte> bytes);
  void append(std::string_view text);
  /// Writes at an absolute offset; append() is not affected.
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Makes the file visible under its name. Call once, last.
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  FileDescriptor descriptor_;
  std::uint64_t appended_ = 0;
};

/// Writes `text` to `target` through an AtomicFile.
void write_text_file(const std::filesystem::path& target, std::string_view text);

}  // namespace lanner::io
