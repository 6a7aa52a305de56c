// SPDX-License-Identifier: MIT
#include "core/arena.h"

#include <algorithm>

namespace lanner {
namespace {

constexpr std::size_t kMinBlockBytes = std::size_t{1} << 20;

std::size_t round_up(std::size_t bytes) {
  return (bytes + Buffer::kAlignment - 1) / Buffer::kAlignment * Buffer::kAlignment;
}

}  // namespace

void* Arena::allocate(std::size_t size_bytes) {
  const std::size_t bytes = round_up(std::max<std::size_t>(size_bytes, 1));
  while (block_ < blocks_.size() && used_bytes_ + bytes > blocks_[block_].size_bytes()) {
    ++block_;
    used_bytes_ = 0;
  }
  if (block_ == blocks_.size()) {
    const std::size_t grown = blocks_.empty() ? kMinBlockBytes : blocks_.back().size_bytes() * 2;
    blocks_.emplace_back(std::max(bytes, grown), *memory_);
  }
  void* memory = blocks_[block_].data() + used_bytes_;
  used_bytes_ += bytes;
  live_bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, live_bytes_);
  return memory;
}

void Arena::reserve(std::size_t size_bytes) {
  if (blocks_.empty() && size_bytes > 0) blocks_.emplace_back(round_up(size_bytes), *memory_);
}

Tensor Arena::floats(const Shape& shape) {
  const auto count = static_cast<std::size_t>(shape.element_count());
  return {allocate(count * sizeof(float)), DType::kF32, shape, memory_->kind()};
}

std::size_t Arena::capacity_bytes() const {
  std::size_t total = 0;
  for (const Buffer& block : blocks_) total += block.size_bytes();
  return total;
}

}  // namespace lanner
