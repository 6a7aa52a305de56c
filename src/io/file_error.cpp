// SPDX-License-Identifier: MIT
#include "io/file_error.h"

#include <fmt/format.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "io/message_text.h"

namespace lanner::io {

Error file_error(const std::filesystem::path& path, std::string_view action, int error_number) {
  const std::string where = printable(path.native());
  const auto io = [&](std::string_view cause) -> Error {
    return {ErrorKind::kIo, fmt::format("{}: cannot {}: {}", where, action, cause)};
  };
  switch (error_number) {
    case ENOENT:
      return {ErrorKind::kNotFound, fmt::format("{}: no such file or folder", where)};
    case ENOTDIR:
      return {ErrorKind::kNotFound,
              fmt::format("{}: no such file: a part of the path is a file, not a folder", where)};
    case EISDIR:
      return {ErrorKind::kInvalidArgument, fmt::format("{}: is a folder, expected a file", where)};
    case ENOMEM:
      return {ErrorKind::kOutOfMemory,
              fmt::format("{}: cannot {}: the system has no memory left", where, action)};
    case EACCES:
    case EPERM:
      return io("permission denied; check the owner and mode of the file and of its folders");
    case EROFS:
      return io("the file system is read-only; choose another folder");
    case ENOSPC:
      return io("the disk is full; free some space or choose another folder");
    case EDQUOT:
      return io("your disk quota is used up; free some space or choose another folder");
    case EFBIG:
      return io("the file would exceed the largest size allowed here (file system or ulimit -f)");
    case EMFILE:
    case ENFILE:
      return io("too many open files; raise the limit (ulimit -n)");
    default:
      return io(std::generic_category().message(error_number));
  }
}

}  // namespace lanner::io
