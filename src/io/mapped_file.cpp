// SPDX-License-Identifier: MIT
#include "io/mapped_file.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <utility>

#include "io/file_error.h"
#include "io/message_text.h"
#include "io/open_file.h"

namespace lanner::io {

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  const OpenFile file = open_for_reading(path);
  if (file.size_bytes == 0) {
    throw Error(ErrorKind::kCorrupt,
                fmt::format("{}: the file is empty; download or copy it again", printable(path.native())));
  }
  size_bytes_ = file.size_bytes;
  void* address = ::mmap(nullptr, size_bytes_, PROT_READ, MAP_PRIVATE, file.descriptor.get(), 0);
  if (address == MAP_FAILED) throw file_error(path, "map into memory", errno);
  data_ = static_cast<const std::byte*>(address);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_bytes_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

void MappedFile::advise(Access access) const {
  int advice = MADV_NORMAL;
  switch (access) {
    case Access::kNormal:
      advice = MADV_NORMAL;
      break;
    case Access::kSequential:
      advice = MADV_SEQUENTIAL;
      break;
    case Access::kRandom:
      advice = MADV_RANDOM;
      break;
    case Access::kSoon:
      advice = MADV_WILLNEED;
      break;
  }
  ::madvise(const_cast<std::byte*>(data_), size_bytes_, advice);
}

}  // namespace lanner::io
