// SPDX-License-Identifier: MIT
#include "io/mapped_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "io/temporary_folder.h"
#include "io/text_file.h"

namespace lanner::io {
namespace {

bool holds(const MappedFile& file, std::string_view text) {
  return file.bytes().size() == text.size() &&
         std::memcmp(file.bytes().data(), text.data(), text.size()) == 0;
}

}  // namespace

TEST_CASE("MappedFile shows a file's bytes, also after a move and with every access hint") {
  const TemporaryFolder folder;
  MappedFile file(folder.write("a.bin", "hello"));
  const std::byte* address = file.bytes().data();
  MappedFile moved = std::move(file);
  for (Access access : {Access::kNormal, Access::kSequential, Access::kRandom, Access::kSoon})
    moved.advise(access);
  CHECK(holds(moved, "hello"));
  CHECK(moved.bytes().data() == address);
  MappedFile other(folder.write("b.bin", "world!"));
  other = std::move(moved);
  CHECK(holds(other, "hello"));
  CHECK(other.path().filename() == "a.bin");
}

TEST_CASE("MappedFile shows the same bytes after pages are asked for and given back") {
  std::string text(3 * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + 5, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i % 251);
  const TemporaryFolder folder;
  const MappedFile file(folder.write("pages.bin", text));
  for (const auto part : {file.bytes(), file.bytes().subspan(7)}) {
    file.populate(part);
    CHECK(holds(file, text));
    file.release(part);
    CHECK(holds(file, text));
  }
}

TEST_CASE("MappedFile refuses what is not a readable non-empty file") {
  const TemporaryFolder folder;
  const std::string root = folder.path();
  CHECK(error_of(ErrorKind::kNotFound, [&] { MappedFile file(root + "/none"); }) ==
        root + "/none: no such file or folder");
  CHECK(error_of(ErrorKind::kInvalidArgument, [&] { MappedFile file(root); }) ==
        root + ": is a folder, expected a file");
  folder.write("empty", "");
  CHECK(error_of(ErrorKind::kCorrupt, [&] { MappedFile file(root + "/empty"); }) ==
        root + "/empty: the file is empty; download or copy it again");
  REQUIRE(::mkfifo((root + "/pipe").c_str(), 0600) == 0);
  CHECK(error_of(ErrorKind::kInvalidArgument, [&] { MappedFile file(root + "/pipe"); }) ==
        root + "/pipe: is a device, pipe or socket, expected a file");
  CHECK(error_of(ErrorKind::kNotFound, [&] { MappedFile file(root + "/empty/x"); }) ==
        root + "/empty/x: no such file: a part of the path is a file, not a folder");
}

TEST_CASE("MappedFile reports a file it may not read") {
  if (::geteuid() == 0) {
    MESSAGE("skipped: root may read every file");
    return;
  }
  const TemporaryFolder folder;
  const std::string path = folder.write("secret", "x");
  REQUIRE(::chmod(path.c_str(), 0) == 0);
  CHECK(error_of(ErrorKind::kIo, [&] { MappedFile file(path); }) ==
        path + ": cannot open: permission denied; check the owner and mode of the file and of its folders");
}

TEST_CASE("read_text_file returns the bytes as they are and is bounded") {
  const TemporaryFolder folder;
  const std::string text("a\r\nb\0c\xff", 7);
  const std::string path = folder.write("t", text);
  CHECK(read_text_file(path) == text);
  CHECK(read_text_file(path, 7) == text);
  CHECK(read_text_file(folder.write("empty", "")) == "");
  CHECK(error_of(ErrorKind::kUnsupported, [&] { read_text_file(path, 6); }) ==
        path + ": has 7 bytes, expected at most 6 bytes of text");
  CHECK(error_of(ErrorKind::kInvalidArgument, [&] { read_text_file(folder.path()); }) ==
        folder.path().string() + ": is a folder, expected a file");
}

}  // namespace lanner::io
