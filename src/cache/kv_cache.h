// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "cache/block_pool.h"
#include "cache/cache_bytes.h"
#include "cache/saved_layer.h"
#include "core/tensor.h"
#include "device/ops.h"

namespace lanner::cache {

/// Geometry of one layer's keys and values.
struct KvGeometry {
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;
  device::KvType type = device::KvType::kF32;
  std::optional<std::size_t> window;  ///< positions a query can see, itself included; none = all
};

/// Bytes of one block of 64 positions, keys and values.
std::size_t kv_block_bytes(device::KvType type, std::size_t kv_heads, std::size_t head_dim);

/// Called with every block that a cache holds.
using BlockVisitor = std::function<void(const BlockRef& block, CacheKind kind)>;

/// Keys and values of one layer of one sequence in blocks of 64 positions. A full layer keeps every block. A
/// sliding layer lets go of blocks that fell out of every future window, so memory is bounded by the window
/// plus the longest step. Blocks are shared with forks until one of them writes. Reads are bounded by the
/// ranges the caller gives, which end at the sequence's length; a rollback needs no work here.
class KvCache {
 public:
  KvCache(const KvGeometry& geometry, const BlockPool& pool) : geometry_(geometry), pool_(pool) {}

  const KvGeometry& geometry() const { return geometry_; }
  /// Makes room for positions [begin, end), in blocks that nobody else holds; begin is at most one past the
  /// last written position. Throws Error kOutOfMemory; contents stay valid then.
  void reserve(std::size_t begin, std::size_t end);
  /// Writes k and v [T, kv_heads, head_dim] at [position, position + T), which must be reserved.
  void write(const device::Ops& ops, device::Stream& stream, const Tensor& k, const Tensor& v,
             std::size_t position);
  /// What write() does, for an operation that takes many sequences: keys, then values.
  std::array<device::KvWrite, 2> writes(const Tensor& k, const Tensor& v, std::size_t position) const;
  device::KvBlocks blocks() const;
  /// The first position a query at `position` can see.
  std::size_t visible_from(std::size_t position) const;
  /// True when a sequence cut to `length` could go on: everything its next query sees is still here.
  bool can_truncate(std::size_t length) const;
  /// The first `length` positions in the same blocks; can_truncate(length) must hold.
  KvCache fork(std::size_t length) const;
  /// Lets go of blocks no query at or after `length` can see. Positions from `length` on stay writable.
  void retire(std::size_t length);
  void visit_blocks(const BlockVisitor& visit) const;
  SavedLayer saved() const;
  /// Takes over the blocks of a snapshot of `length` positions, as many and as large as saved_block_bytes()
  /// says.
  void restore(std::size_t length, std::vector<BlockRef> blocks);
  std::size_t size_bytes() const;

 private:
  std::size_t side_bytes() const;
  void place(std::size_t index);

  KvGeometry geometry_;
  BlockPool pool_;
  std::size_t first_block_ = 0;
  std::vector<BlockRef> blocks_;  ///< keys of 64 positions, then their values
  std::vector<void*> key_blocks_;
  std::vector<void*> value_blocks_;
};

}  // namespace lanner::cache
