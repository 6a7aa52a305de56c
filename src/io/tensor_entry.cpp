// SPDX-License-Identifier: MIT
#include "io/tensor_entry.h"

#include <fmt/format.h>

#include <cassert>
#include <cstdint>
#include <cstring>

#include "core/buffer.h"
#include "io/message_text.h"

namespace lanner::io {

std::string TensorEntry::file_name() const { return printable(file->path().filename().native()); }

HeldTensor load_tensor(const TensorEntry& entry, std::size_t alignment_bytes) {
  const std::size_t alignment = alignment_bytes == 0 ? size_bytes(entry.dtype) : alignment_bytes;
  assert(alignment <= Buffer::kAlignment && (alignment & (alignment - 1)) == 0);
  HeldTensor held;
  held.tensor.dtype = entry.dtype;
  held.tensor.shape = entry.shape;
  if (reinterpret_cast<std::uintptr_t>(entry.bytes.data()) % alignment == 0) {
    held.tensor.data = const_cast<std::byte*>(entry.bytes.data());
    held.owner = entry.file;
  } else {
    auto copy = std::make_shared<const Buffer>(entry.bytes.size());
    if (!entry.bytes.empty()) std::memcpy(copy->data(), entry.bytes.data(), entry.bytes.size());
    held.tensor.data = copy->data();
    held.owner = std::move(copy);
  }
  return held;
}

Error tensor_error(const TensorEntry& entry, std::string_view problem) {
  return {ErrorKind::kCorrupt,
          fmt::format("{}: tensor {} {}", entry.file_name(), in_quotes(entry.name), problem)};
}

void expect_shape(const TensorEntry& entry, const Shape& expected, std::string_view why) {
  if (entry.shape == expected) return;
  const std::string reason = why.empty() ? std::string() : fmt::format(" ({})", why);
  throw tensor_error(
      entry, fmt::format("has shape {}, expected {}{}", to_string(entry.shape), to_string(expected), reason));
}

}  // namespace lanner::io
