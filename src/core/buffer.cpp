// SPDX-License-Identifier: MIT
#include "core/buffer.h"

#include <fmt/format.h>

#include <cstring>
#include <new>

#include "core/error.h"

namespace lanner {

Buffer::Buffer(std::size_t size_bytes) : size_bytes_(size_bytes) {
  if (size_bytes == 0) return;
  data_ = static_cast<std::byte*>(::operator new (size_bytes, std::align_val_t{kAlignment}, std::nothrow));
  if (data_ == nullptr)
    throw Error(ErrorKind::kOutOfMemory, fmt::format("no memory for a block of {} bytes", size_bytes));
}

Buffer Buffer::zeroed(std::size_t size_bytes) {
  Buffer buffer(size_bytes);
  if (size_bytes != 0) std::memset(buffer.data_, 0, size_bytes);
  return buffer;
}

Buffer::~Buffer() { ::operator delete (data_, std::align_val_t{kAlignment}); }

}  // namespace lanner
