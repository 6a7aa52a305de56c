// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>

#include "io/file_descriptor.h"

namespace lanner::io {

/// A regular file open for reading, with its size at that moment.
struct OpenFile {
  FileDescriptor descriptor;
  std::uint64_t size_bytes = 0;
};

/// Throws Error kInvalidArgument when `status` is that of a folder, device, pipe or socket.
void require_regular_file(const std::filesystem::path& path, const struct stat& status);

/// Opens `path`, following symbolic links. Throws Error for anything but a readable regular file; never
/// blocks on a pipe or device.
OpenFile open_for_reading(const std::filesystem::path& path);

}  // namespace lanner::io
