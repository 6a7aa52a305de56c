// SPDX-License-Identifier: MIT
#include "cache/kv_cache.h"

#include <algorithm>
#include <cassert>

namespace lanner::cache {

using device::kKvBlock;

namespace {

std::size_t blocks_of(std::size_t positions) { return (positions + kKvBlock - 1) / kKvBlock; }

}  // namespace

std::size_t kv_block_bytes(device::KvType type, std::size_t kv_heads, std::size_t head_dim) {
  const std::size_t bytes = device::KvLayout{type, head_dim}.side_bytes(kv_heads);
  return 2 * ((bytes + Buffer::kAlignment - 1) / Buffer::kAlignment * Buffer::kAlignment);
}

std::size_t KvCache::side_bytes() const {
  return kv_block_bytes(geometry_.type, geometry_.kv_heads, geometry_.head_dim) / 2;
}

void KvCache::place(std::size_t index) {
  key_blocks_[index] = blocks_[index]->data();
  value_blocks_[index] = blocks_[index]->data() + side_bytes();
}

void KvCache::reserve(std::size_t begin, std::size_t end) {
  const std::size_t first = begin / kKvBlock - std::min(begin / kKvBlock, first_block_);
  for (std::size_t index = first; index < blocks_.size() && first_block_ + index < blocks_of(end); ++index) {
    pool_.make_exclusive(blocks_[index]);
    place(index);
  }
  while (first_block_ + blocks_.size() < blocks_of(end)) {
    blocks_.push_back(pool_.take(2 * side_bytes()));
    key_blocks_.push_back(nullptr);
    value_blocks_.push_back(nullptr);
    place(blocks_.size() - 1);
  }
}

void KvCache::write(const device::Ops& ops, device::Stream& stream, const Tensor& k, const Tensor& v,
                    std::size_t position) {
  ops.write_kv(stream, writes(k, v, position));
}

std::array<device::KvWrite, 2> KvCache::writes(const Tensor& k, const Tensor& v, std::size_t position) const {
  return {{{k, key_blocks_, first_block_, geometry_.type, position},
           {v, value_blocks_, first_block_, geometry_.type, position}}};
}

device::KvBlocks KvCache::blocks() const {
  return {.keys = key_blocks_, .values = value_blocks_, .first_block = first_block_, .type = geometry_.type};
}

std::size_t KvCache::visible_from(std::size_t position) const {
  if (!geometry_.window || position + 1 <= *geometry_.window) return 0;
  return position + 1 - *geometry_.window;
}

bool KvCache::can_truncate(std::size_t length) const {
  return visible_from(length) >= first_block_ * kKvBlock &&
         blocks_of(length) <= first_block_ + blocks_.size();
}

KvCache KvCache::fork(std::size_t length) const {
  assert(can_truncate(length));
  KvCache copy = *this;
  copy.retire(length);
  const std::size_t kept = blocks_of(length) - std::min(blocks_of(length), copy.first_block_);
  copy.blocks_.resize(kept);
  copy.key_blocks_.resize(kept);
  copy.value_blocks_.resize(kept);
  return copy;
}

void KvCache::retire(std::size_t length) {
  const std::size_t first_visible = visible_from(length) / kKvBlock;
  if (first_visible <= first_block_) return;
  const std::size_t expired = std::min(first_visible - first_block_, blocks_.size());
  const auto count = static_cast<std::ptrdiff_t>(expired);
  blocks_.erase(blocks_.begin(), blocks_.begin() + count);
  key_blocks_.erase(key_blocks_.begin(), key_blocks_.begin() + count);
  value_blocks_.erase(value_blocks_.begin(), value_blocks_.begin() + count);
  first_block_ += expired;
}

SavedLayer KvCache::saved() const {
  return {.entries = 0,
          .blocks = blocks_,
          .content_bytes = std::vector<std::size_t>(blocks_.size(), 2 * side_bytes())};
}

void KvCache::restore(std::size_t length, std::vector<BlockRef> blocks) {
  first_block_ = visible_from(length) / kKvBlock;
  blocks_ = std::move(blocks);
  key_blocks_.resize(blocks_.size());
  value_blocks_.resize(blocks_.size());
  for (std::size_t index = 0; index < blocks_.size(); ++index) place(index);
}

void KvCache::visit_blocks(const BlockVisitor& visit) const {
  const CacheKind kind = geometry_.window ? CacheKind::kSliding : CacheKind::kFull;
  for (const BlockRef& block : blocks_) visit(block, kind);
}

std::size_t KvCache::size_bytes() const { return blocks_.size() * 2 * side_bytes(); }

}  // namespace lanner::cache
