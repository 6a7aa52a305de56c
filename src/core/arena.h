// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "core/buffer.h"
#include "core/tensor.h"

namespace lanner {

/// Scratch of one step: allocation is a pointer bump, release is a rewind to a mark. Blocks are kept for the
/// next step, so a steady state allocates nothing.
class Arena {
 public:
  /// A position to rewind to.
  struct Mark {
    std::size_t block = 0;
    std::size_t used_bytes = 0;  ///< of that block
    std::size_t live_bytes = 0;  ///< of all blocks
  };

  /// Takes its blocks from `memory`, which must outlive it.
  explicit Arena(Memory& memory = host_memory()) : memory_(&memory) {}
  Arena(Arena&&) = default;
  Arena& operator=(Arena&&) = default;

  /// Uninitialised memory aligned to 64 bytes, valid until a rewind below it.
  void* allocate(std::size_t size_bytes);
  /// Uninitialised float tensor.
  Tensor floats(const Shape& shape);

  Mark mark() const { return {block_, used_bytes_, live_bytes_}; }
  void rewind(Mark mark) {
    block_ = mark.block;
    used_bytes_ = mark.used_bytes;
    live_bytes_ = mark.live_bytes;
  }
  void reset() { rewind({}); }
  /// Takes one block of this size now, when there is none yet: steps that need no more stay in it.
  void reserve(std::size_t size_bytes);
  /// The most that was ever allocated at once, roundings included.
  std::size_t peak_bytes() const { return peak_bytes_; }
  /// Bytes held from the system.
  std::size_t capacity_bytes() const;

 private:
  Memory* memory_;
  std::vector<Buffer> blocks_;
  std::size_t block_ = 0;
  std::size_t used_bytes_ = 0;
  std::size_t live_bytes_ = 0;
  std::size_t peak_bytes_ = 0;
};

/// Rewinds an arena to where it was when the scope began.
class [[nodiscard]] ArenaScope {
 public:
  explicit ArenaScope(Arena& arena) : arena_(arena), mark_(arena.mark()) {}
  ~ArenaScope() { arena_.rewind(mark_); }
  ArenaScope(const ArenaScope&) = delete;
  ArenaScope& operator=(const ArenaScope&) = delete;

 private:
  Arena& arena_;
  Arena::Mark mark_;
};

}  // namespace lanner
