// SPDX-License-Identifier: MIT
#include "cache/block_pool.h"

#include <fmt/format.h>

#include <atomic>

#include "core/error.h"

namespace lanner::cache {

struct PoolLedger {
  explicit PoolLedger(std::size_t capacity) : capacity_bytes(capacity) {}

  std::size_t capacity_bytes;
  std::atomic<std::size_t> used_bytes{0};
  std::atomic<std::size_t> peak_bytes{0};

  void add(std::size_t bytes) {
    std::size_t used = used_bytes.load();
    do {
      if (bytes > capacity_bytes || used > capacity_bytes - bytes)
        throw Error(ErrorKind::kOutOfMemory,
                    fmt::format("the caches may take {} bytes, {} of them are in use and {} more are needed",
                                capacity_bytes, used, bytes));
    } while (!used_bytes.compare_exchange_weak(used, used + bytes));
    std::size_t peak = peak_bytes.load();
    while (peak < used + bytes && !peak_bytes.compare_exchange_weak(peak, used + bytes)) {
    }
  }
};

Block::Block(std::shared_ptr<PoolLedger> ledger, std::size_t size_bytes, Memory& memory)
    : ledger_(std::move(ledger)) {
  ledger_->add(size_bytes);
  try {
    memory_ = Buffer(size_bytes, memory);
  } catch (...) {
    ledger_->used_bytes -= size_bytes;
    throw;
  }
}

Block::~Block() { ledger_->used_bytes -= memory_.size_bytes(); }

BlockPool::BlockPool(std::size_t capacity_bytes, Memory& memory)
    : ledger_(std::make_shared<PoolLedger>(capacity_bytes)), memory_(&memory) {}

BlockRef BlockPool::take(std::size_t size_bytes) const {
  // Zeroed: a masked key's score is discarded, but 0 * NaN from stale memory would survive in a value sum.
  BlockRef block = take_unset(size_bytes);
  memory_->zero(block->data(), size_bytes);
  return block;
}

BlockRef BlockPool::take_unset(std::size_t size_bytes) const {
  return std::make_shared<Block>(ledger_, size_bytes, *memory_);
}

BlockRef BlockPool::copy(const Block& block) const {
  BlockRef copied = take_unset(block.size_bytes());
  memory_->copy(copied->data(), block.data(), block.size_bytes());
  return copied;
}

std::size_t BlockPool::capacity_bytes() const { return ledger_->capacity_bytes; }
std::size_t BlockPool::used_bytes() const { return ledger_->used_bytes; }
std::size_t BlockPool::peak_bytes() const { return ledger_->peak_bytes; }

}  // namespace lanner::cache
