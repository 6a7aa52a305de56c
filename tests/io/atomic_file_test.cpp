// SPDX-License-Identifier: MIT
#include "io/atomic_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <iterator>

#include "io/file_size_limit.h"
#include "io/safetensors_bytes.h"
#include "io/temporary_folder.h"
#include "io/text_file.h"

namespace lanner::io {
namespace {

std::ptrdiff_t file_count(const TemporaryFolder& folder) {
  return std::distance(std::filesystem::directory_iterator(folder.path()),
                       std::filesystem::directory_iterator());
}

}  // namespace

TEST_CASE("AtomicFile shows nothing under the name until commit, then everything, with the umask's mode") {
  const TemporaryFolder folder;
  const std::filesystem::path target = folder.path() / "out.txt";
  {
    AtomicFile file(target);
    file.reserve(11);
    file.append("hello ");
    file.append("world");
    file.write_at(0, bytes_of("J"));
    CHECK_FALSE(std::filesystem::exists(target));
    file.commit();
  }
  CHECK(read_text_file(target) == "Jello world");
  CHECK(file_count(folder) == 1);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  struct stat status {};
  REQUIRE(::stat(target.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == (0666 & ~mask));
}

TEST_CASE("AtomicFile without commit leaves the older file and no temporary") {
  const TemporaryFolder folder;
  const std::filesystem::path target = folder.write("out.txt", "old");
  {
    AtomicFile file(target);
    file.append("new");
  }
  CHECK(read_text_file(target) == "old");
  CHECK(file_count(folder) == 1);
  write_text_file(target, "newer");
  CHECK(read_text_file(target) == "newer");
}

TEST_CASE("AtomicFile reports a target it cannot write") {
  const TemporaryFolder folder;
  const std::string root = folder.path();
  CHECK(error_of(ErrorKind::kNotFound, [&] { AtomicFile file(root + "/none/out"); }) ==
        root + "/none/out: its folder does not exist; make it first");
  CHECK(error_of(ErrorKind::kInvalidArgument, [&] { AtomicFile file("/dev/null"); }) ==
        "/dev/null: is a device, pipe or socket, expected a file");
  CHECK(error_of(ErrorKind::kInvalidArgument, [&] { AtomicFile file{folder.path()}; }) ==
        root + ": is a folder, expected a file");
}

TEST_CASE("AtomicFile reports a write that finds no room, and removes what it wrote") {
  const TemporaryFolder folder;
  const std::string target = folder.path() / "out.bin";
  const std::string block(8192, 'x');
  {
    const FileSizeLimit limit(4096);
    const std::string problem =
        "the file would exceed the largest size allowed here (file system or ulimit -f)";
    CHECK(error_of(ErrorKind::kIo, [&] {
            AtomicFile file(target);
            file.append(block);
          }) == target + ": cannot write: " + problem);
  }
  CHECK(file_count(folder) == 0);
}

}  // namespace lanner::io
