// SPDX-License-Identifier: MIT
#include "cache/kv_cache.h"

#include <algorithm>

namespace lanner::cache {

using device::kKvBlock;

std::size_t KvCache::block_bytes() const {
  return geometry_.kv_heads * kKvBlock * geometry_.head_dim * lanner::size_bytes(geometry_.dtype);
}

Buffer KvCache::take_block() {
  // Zeroed: a masked key's score is discarded, but 0 * NaN from stale memory would survive in a value sum.
  if (spare_.empty()) return Buffer::zeroed(block_bytes());
  Buffer block = std::move(spare_.back());
  spare_.pop_back();
  return block;
}

void KvCache::reserve(std::size_t end) {
  const std::size_t blocks = (end + kKvBlock - 1) / kKvBlock;
  while (first_block_ + keys_.size() < blocks) {
    Buffer key = take_block();
    Buffer value = take_block();
    key_blocks_.push_back(key.data());
    value_blocks_.push_back(value.data());
    keys_.push_back(std::move(key));
    values_.push_back(std::move(value));
  }
}

void KvCache::write(const device::Ops& ops, const Tensor& k, const Tensor& v, std::size_t position) {
  ops.write_kv(key_blocks_, first_block_, geometry_.dtype, k, position);
  ops.write_kv(value_blocks_, first_block_, geometry_.dtype, v, position);
}

device::KvBlocks KvCache::blocks() const {
  return {
      .keys = key_blocks_, .values = value_blocks_, .first_block = first_block_, .dtype = geometry_.dtype};
}

std::size_t KvCache::visible_from(std::size_t position) const {
  if (!geometry_.window || position + 1 <= *geometry_.window) return 0;
  return position + 1 - *geometry_.window;
}

bool KvCache::can_truncate(std::size_t length) const {
  return visible_from(length) >= first_block_ * kKvBlock;
}

void KvCache::retire(std::size_t length) {
  const std::size_t first_visible = visible_from(length) / kKvBlock;
  if (first_visible <= first_block_) return;
  const std::size_t expired = std::min(first_visible - first_block_, keys_.size());
  const auto count = static_cast<std::ptrdiff_t>(expired);
  spare_.insert(spare_.end(), std::make_move_iterator(keys_.begin()),
                std::make_move_iterator(keys_.begin() + count));
  spare_.insert(spare_.end(), std::make_move_iterator(values_.begin()),
                std::make_move_iterator(values_.begin() + count));
  keys_.erase(keys_.begin(), keys_.begin() + count);
  values_.erase(values_.begin(), values_.begin() + count);
  key_blocks_.erase(key_blocks_.begin(), key_blocks_.begin() + count);
  value_blocks_.erase(value_blocks_.begin(), value_blocks_.begin() + count);
  first_block_ += expired;
}

std::size_t KvCache::size_bytes() const {
  return (keys_.size() + values_.size() + spare_.size()) * block_bytes();
}

}  // namespace lanner::cache
