// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"
#include "io/atomic_file.h"

namespace lanner::io {

/// A tensor to be written.
struct TensorDeclaration {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
};

/// Streams a safetensors file: all tensors are declared first, then their bytes arrive in any order and in
/// pieces, so nothing needs to be held in memory. The data section starts at a multiple of 64 bytes and
/// tensors lie in it without gaps by falling element size (then in declared order): every tensor is aligned
/// to its element. The file appears under its name at finish(); before that, or if finish() is never called,
/// it does not exist.
class SafetensorsWriter {
 public:
  static constexpr std::uint64_t kDataAlignment = 64;

  /// Writes the header and reserves the disk space. `metadata` becomes __metadata__ ({{"format", "mlx"}});
  /// empty leaves it out. Throws kInvalidArgument for a repeated, reserved or non-UTF-8 name, kIo (full disk,
  /// ...).
  SafetensorsWriter(const std::filesystem::path& path, const std::vector<TensorDeclaration>& tensors,
                    const std::map<std::string, std::string>& metadata = {});

  /// Appends to the named tensor's bytes. Throws kInternal for an undeclared name or more bytes than
  /// declared.
  void append(std::string_view name, std::span<const std::byte> bytes);
  /// As append() for typed elements.
  template <typename T>
  void append_values(std::string_view name, std::span<const T> values) {
    append(name, std::as_bytes(values));
  }

  /// Flushes and renames into place. Throws kInternal naming a tensor whose bytes are incomplete.
  void finish();

  /// Size of the whole file.
  std::uint64_t file_size_bytes() const { return file_size_; }

 private:
  struct Slot {
    std::uint64_t next = 0;  ///< File offset of the next byte to come.
    std::uint64_t end = 0;
  };
  AtomicFile file_;
  std::map<std::string, Slot, std::less<>> slots_;
  std::uint64_t file_size_ = 0;
};

}  // namespace lanner::io
