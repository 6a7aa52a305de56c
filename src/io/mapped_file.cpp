// SPDX-License-Identifier: MIT
#include "io/mapped_file.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

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

namespace {

int advice_of(Access access) {
  switch (access) {
    case Access::kSequential:
      return MADV_SEQUENTIAL;
    case Access::kRandom:
      return MADV_RANDOM;
    case Access::kSoon:
      return MADV_WILLNEED;
    case Access::kNormal:
      break;
  }
  return MADV_NORMAL;
}

/// Only a hint: failure is ignored.
void advise_whole_pages(std::span<const std::byte> part, int advice) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t into_page = reinterpret_cast<std::uintptr_t>(part.data()) % page;
  const std::size_t skipped = into_page == 0 ? 0 : page - into_page;
  if (part.size() < skipped + page) return;
  const std::span<const std::byte> pages = part.subspan(skipped, (part.size() - skipped) / page * page);
  ::madvise(const_cast<std::byte*>(pages.data()), pages.size(), advice);
}

}  // namespace

void MappedFile::advise(Access access) const {
  ::madvise(const_cast<std::byte*>(data_), size_bytes_, advice_of(access));
}

void MappedFile::advise(std::span<const std::byte> part, Access access) const {
  advise_whole_pages(part, advice_of(access));
}

void MappedFile::populate(std::span<const std::byte> part) const {
  advise_whole_pages(part, MADV_POPULATE_READ);
}

void MappedFile::release(std::span<const std::byte> part) const { advise_whole_pages(part, MADV_DONTNEED); }

}  // namespace lanner::io
