// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/buffer.h"

namespace lanner::cache {

/// What the blocks of one pool take, alive together.
struct PoolLedger;

/// Memory of a cache: one block of keys and values, or one layer's recurrent state. Shared by reference
/// between sequences and snapshots; whoever writes to it must be its only holder.
class Block {
 public:
  Block(std::shared_ptr<PoolLedger> ledger, std::size_t size_bytes, Memory& memory);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  std::byte* data() const { return memory_.data(); }
  std::size_t size_bytes() const { return memory_.size_bytes(); }
  template <typename T>
  T* as() const {
    return memory_.as<T>();
  }

 private:
  std::shared_ptr<PoolLedger> ledger_;
  Buffer memory_;
};

using BlockRef = std::shared_ptr<Block>;

inline bool is_shared(const BlockRef& block) { return block.use_count() > 1; }

/// Where the caches of many sequences get their memory: counts the bytes of living blocks, each once however
/// many hold it, and refuses to pass its cap. A handle: copies are the same pool. Blocks may be released on
/// any thread.
class BlockPool {
 public:
  static constexpr std::size_t kUnlimited = SIZE_MAX;

  explicit BlockPool(std::size_t capacity_bytes = kUnlimited, Memory& memory = host_memory());

  /// A block of zeros. Throws Error kOutOfMemory when the cap or the machine's memory does not allow it.
  BlockRef take(std::size_t size_bytes) const;
  /// A block whose bytes are all about to be written. Throws as take().
  BlockRef take_unset(std::size_t size_bytes) const;
  /// A block with the same bytes. Throws as take().
  BlockRef copy(const Block& block) const;
  /// Makes `block` one that nobody else holds: itself, or a copy. Throws as take(), `block` unchanged then.
  void make_exclusive(BlockRef& block) const {
    if (is_shared(block)) block = copy(*block);
  }

  /// Where the blocks live.
  Memory& memory() const { return *memory_; }
  std::size_t capacity_bytes() const;
  std::size_t used_bytes() const;
  std::size_t peak_bytes() const;  ///< the most that was ever in use

 private:
  std::shared_ptr<PoolLedger> ledger_;
  Memory* memory_;
};

}  // namespace lanner::cache
