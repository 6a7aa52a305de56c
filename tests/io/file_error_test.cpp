// SPDX-License-Identifier: MIT
#include "io/file_error.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <string>

namespace lanner::io {

TEST_CASE("file_error names the path, the cause and the remedy") {
  const auto text = [](int number) {
    return std::string(file_error("out/w.safetensors", "write", number).what());
  };
  CHECK(text(ENOENT) == "out/w.safetensors: no such file or folder");
  CHECK(text(ENOTDIR) == "out/w.safetensors: no such file: a part of the path is a file, not a folder");
  CHECK(text(EISDIR) == "out/w.safetensors: is a folder, expected a file");
  CHECK(text(ENOSPC) ==
        "out/w.safetensors: cannot write: the disk is full; free some space or choose another folder");
  CHECK(text(EDQUOT) ==
        "out/w.safetensors: cannot write: your disk quota is used up; free some space or choose another "
        "folder");
  CHECK(text(EROFS) ==
        "out/w.safetensors: cannot write: the file system is read-only; choose another folder");
  CHECK(text(EACCES) ==
        "out/w.safetensors: cannot write: permission denied; check the owner and mode of the file and of its "
        "folders");
  CHECK(text(EMFILE) == "out/w.safetensors: cannot write: too many open files; raise the limit (ulimit -n)");
  CHECK(text(EIO) == "out/w.safetensors: cannot write: Input/output error");
}

TEST_CASE("file_error picks the kind by cause") {
  CHECK(file_error("f", "read", ENOENT).kind() == ErrorKind::kNotFound);
  CHECK(file_error("f", "read", EISDIR).kind() == ErrorKind::kInvalidArgument);
  CHECK(file_error("f", "map", ENOMEM).kind() == ErrorKind::kOutOfMemory);
  CHECK(file_error("f", "write", ENOSPC).kind() == ErrorKind::kIo);
}

}  // namespace lanner::io
