// SPDX-License-Identifier: MIT
#include "io/atomic_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iterator>
#include <string>
#include <vector>

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

/// The number of a process that has ended.
std::string ended_process() {
  const pid_t process = ::fork();
  if (process == 0) ::_exit(0);
  REQUIRE(::waitpid(process, nullptr, 0) == process);
  return std::to_string(process);
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

TEST_CASE("AtomicFile removes what a killed process left of the same file, and nothing else") {
  const TemporaryFolder folder;
  const std::string ended = ended_process();
  const std::string ours = std::to_string(::getpid());
  const std::string parent = std::to_string(::getppid());
  const std::filesystem::path target = folder.path() / "out.txt";
  const std::vector<std::string> leftovers{"out.txt." + ended + "-0.tmp", "out.txt." + ended + "-12.tmp",
                                           "out.txt." + ours + "-900.tmp"};
  const std::vector<std::string> others{"out.txt." + parent + "-0.tmp",   "out.txt." + ended + "-0.tmp2",
                                        "out.txt." + ended + ".tmp",      "out.txt." + ended + "--1.tmp",
                                        "out.txt.-" + ended + "-0.tmp",   "my_out.txt." + ended + "-0.tmp",
                                        "out.txt.bak." + ended + "-0.tmp"};
  for (const auto* names : {&leftovers, &others})
    for (const std::string& name : *names) folder.write(name, "x");
  const std::string linked = folder.path() / ("out.txt." + ended + "-7.tmp");
  std::filesystem::create_symlink(folder.write("precious", "x"), linked);
  {
    AtomicFile being_written(target);
    write_text_file(target, "new");
    CHECK(read_text_file(target) == "new");
    being_written.append("newer");
    being_written.commit();
  }
  CHECK(read_text_file(target) == "newer");
  for (const std::string& name : leftovers) CHECK_FALSE(std::filesystem::exists(folder.path() / name));
  for (const std::string& name : others) CHECK(std::filesystem::exists(folder.path() / name));
  CHECK(std::filesystem::exists(linked));
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
