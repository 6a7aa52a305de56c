// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>

#include "io/file_descriptor.h"

namespace lanner::io {

/// A regular file open for reading, with its size at that moment.
struct OpenFile {
  FileDescriptor descriptor;
  std::uint64_t size_bytes = 0;
};

/// Opens `path`, following symbolic links. Throws Error for anything but a readable regular file; never
/// blocks on a pipe or device.
OpenFile open_for_reading(const std::filesystem::path& path);

}  // namespace lanner::io
