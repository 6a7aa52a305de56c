// SPDX-License-Identifier: MIT
#include "io/open_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "io/file_error.h"
#include "io/message_text.h"

namespace lanner::io {

void require_regular_file(const std::filesystem::path& path, const struct stat& status) {
  if (S_ISDIR(status.st_mode)) throw file_error(path, "open", EISDIR);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: is a device, pipe or socket, expected a file", printable(path.native())));
  }
}

OpenFile open_for_reading(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a named pipe would otherwise wait for a writer.
  FileDescriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!descriptor.is_open()) throw file_error(path, "open", errno);
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0) throw file_error(path, "open", errno);
  require_regular_file(path, status);
  return {std::move(descriptor), static_cast<std::uint64_t>(status.st_size)};
}

}  // namespace lanner::io
