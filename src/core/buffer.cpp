// SPDX-License-Identifier: MIT
#include "core/buffer.h"

namespace lanner {

Buffer::Buffer(std::size_t size_bytes, Memory& memory) : memory_(&memory), size_bytes_(size_bytes) {
  if (size_bytes != 0) data_ = memory.allocate(size_bytes);
}

Buffer Buffer::zeroed(std::size_t size_bytes, Memory& memory) {
  Buffer buffer(size_bytes, memory);
  if (size_bytes != 0) memory.zero(buffer.data_, size_bytes);
  return buffer;
}

Buffer::~Buffer() {
  if (data_ != nullptr) memory_->release(data_, size_bytes_);
}

}  // namespace lanner
