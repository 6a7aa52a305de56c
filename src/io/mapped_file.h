// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace lanner::io {

/// How the mapped pages will be used; a hint to the operating system.
enum class Access : std::uint8_t {
  kNormal,      ///< No hint.
  kSequential,  ///< Read once from front to back.
  kRandom,      ///< No read-ahead.
  kSoon,        ///< Start reading into memory now.
};

/// A whole file mapped read-only. Move-only; the bytes stay valid and at one address for the object's
/// lifetime, also across moves. The file must not shrink meanwhile (the operating system would raise SIGBUS).
class MappedFile {
 public:
  /// Throws Error: kNotFound, kInvalidArgument for a folder or device, kCorrupt for an empty file, kIo.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {data_, size_bytes_}; }

  /// Hints how all bytes will be used. Failure is ignored: it is only a hint.
  void advise(Access access) const;
  /// The same for the whole pages inside `part`, which lies in bytes().
  void advise(std::span<const std::byte> part, Access access) const;
  /// Maps the whole pages inside `part` at once, for a caller about to read all of them. A hint as well.
  void populate(std::span<const std::byte> part) const;
  /// Gives the memory of the whole pages inside `part` back; they are read from the file when used again.
  void release(std::span<const std::byte> part) const;

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace lanner::io
