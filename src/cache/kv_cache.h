// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/buffer.h"
#include "core/tensor.h"
#include "device/ops.h"

namespace lanner::cache {

/// Geometry of one layer's keys and values.
struct KvGeometry {
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;
  DType dtype = DType::kF32;
  std::optional<std::size_t> window;  ///< positions a query can see, itself included; none = all
};

/// Keys and values of one layer of one sequence in blocks of 64 positions. A full layer keeps every block. A
/// sliding layer is a ring: blocks that fell out of every future window are reused for new positions, so
/// memory is bounded by the window plus the longest step. Reads are bounded by the ranges the caller gives,
/// which end at the sequence's length; a rollback needs no work here.
class KvCache {
 public:
  explicit KvCache(const KvGeometry& geometry) : geometry_(geometry) {}

  const KvGeometry& geometry() const { return geometry_; }
  /// Makes room for positions [first kept block, end). Throws Error kOutOfMemory; contents stay valid then.
  void reserve(std::size_t end);
  /// Writes k and v [T, kv_heads, head_dim] at [position, position + T), which must be reserved.
  void write(const device::Ops& ops, const Tensor& k, const Tensor& v, std::size_t position);
  device::KvBlocks blocks() const;
  /// The first position a query at `position` can see.
  std::size_t visible_from(std::size_t position) const;
  /// True when a sequence cut to `length` could go on: everything its next query sees is still here.
  bool can_truncate(std::size_t length) const;
  /// Frees blocks no query at or after `length` can see. Positions from `length` on stay writable.
  void retire(std::size_t length);
  std::size_t size_bytes() const;

 private:
  std::size_t block_bytes() const;
  Buffer take_block();

  KvGeometry geometry_;
  std::size_t first_block_ = 0;
  std::vector<Buffer> keys_;
  std::vector<Buffer> values_;
  std::vector<void*> key_blocks_;
  std::vector<void*> value_blocks_;
  std::vector<Buffer> spare_;
};

}  // namespace lanner::cache
