// SPDX-License-Identifier: MIT
#include "io/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <system_error>

#include "io/file_error.h"
#include "io/message_text.h"
#include "io/open_file.h"

namespace lanner::io {
namespace {

constexpr int kMaxTemporaryNames = 1000;

void flush_folder(const std::filesystem::path& folder) {
  const FileDescriptor descriptor(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems refuse fsync on a folder; the rename has happened all the same.
  if (descriptor.is_open()) ::fsync(descriptor.get());
}

/// Takes a decimal number off the front of `text`.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

/// The process that gave a temporary file of `target` its name; nothing for any other file.
std::optional<pid_t> writer_of(std::string_view name, std::string_view target) {
  if (!take(name, target) || !take(name, ".")) return std::nullopt;
  const std::optional<int> process = take_number(name);
  const bool ours = process && take(name, "-") && take_number(name) && name == ".tmp";
  return ours ? process : std::nullopt;
}

/// A process of this number may have been another one: in a container they are few.
bool may_be_gone(pid_t process) {
  return process == ::getpid() || (::kill(process, 0) != 0 && errno == ESRCH);
}

/// Removes a file that nobody holds a lock on.
void remove_unlocked(const std::filesystem::path& file) {
  const FileDescriptor descriptor(::open(file.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!descriptor.is_open() || ::fstat(descriptor.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (::flock(descriptor.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(file.c_str());
}

/// Removes what processes that were killed while they wrote `target` left beside it. A file that cannot be
/// removed is no fault.
void remove_leftovers(const std::filesystem::path& target) {
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto writer = writer_of(entry->path().filename().native(), target.filename().native());
    if (writer && may_be_gone(*writer)) remove_unlocked(entry->path());
  }
}

/// Marks a new temporary file as one that is being written, until it is closed. False when somebody took it
/// for a leftover before that.
bool claim(int descriptor) {
  while (::flock(descriptor, LOCK_EX) != 0) {
    if (errno != EINTR) return true;  // no locks here: then nobody removes leftovers either
  }
  struct stat status {};
  return ::fstat(descriptor, &status) != 0 || status.st_nlink > 0;
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& target) : target_(target) {
  struct stat status {};
  if (::stat(target.c_str(), &status) == 0) require_regular_file(target, status);
  remove_leftovers(target);
  for (int i = 0; i < kMaxTemporaryNames && !descriptor_.is_open(); ++i) {
    temporary_ = target;
    temporary_ += fmt::format(".{}-{}.tmp", ::getpid(), i);
    // Not mkstemp: its mode 0600 would survive the rename, the umask's mode is what users expect.
    descriptor_ = FileDescriptor(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!descriptor_.is_open() && errno == ENOENT)
      throw Error(ErrorKind::kNotFound,
                  fmt::format("{}: its folder does not exist; make it first", printable(target.native())));
    if (!descriptor_.is_open() && errno != EEXIST) throw file_error(target, "create", errno);
    if (descriptor_.is_open() && !claim(descriptor_.get())) descriptor_ = {};
  }
  if (!descriptor_.is_open()) throw file_error(target, "create a temporary file beside it", EEXIST);
}

AtomicFile::~AtomicFile() {
  if (descriptor_.is_open()) ::unlink(temporary_.c_str());
}

void AtomicFile::reserve(std::uint64_t size_bytes) {
  if (size_bytes == 0) return;
  // fallocate, not posix_fallocate: the latter writes zeros where the file system has no support.
  while (::fallocate(descriptor_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size_bytes)) != 0) {
    if (errno == EINTR) continue;
    if (errno == EOPNOTSUPP || errno == ENOSYS) return;
    const int cause = errno;  // formatting may change it
    throw file_error(target_, fmt::format("reserve {}", readable_size(size_bytes)), cause);
  }
}

void AtomicFile::append(std::span<const std::byte> bytes) {
  write_at(appended_, bytes);
  appended_ += bytes.size();
}

void AtomicFile::append(std::string_view text) { append(std::as_bytes(std::span(text.data(), text.size()))); }

void AtomicFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(descriptor_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw file_error(target_, "write", errno);
    offset += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void AtomicFile::commit() {
  // Late errors (full disk, network file systems) surface at fsync or close: both count as write errors.
  if (::fsync(descriptor_.get()) != 0) throw file_error(target_, "write", errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0)
    throw file_error(target_, "rename into place", errno);
  if (::close(descriptor_.release()) != 0) throw file_error(target_, "write", errno);
  flush_folder(target_.parent_path());
}

void write_text_file(const std::filesystem::path& target, std::string_view text) {
  AtomicFile file(target);
  file.append(text);
  file.commit();
}

}  // namespace lanner::io
