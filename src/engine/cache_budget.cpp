// SPDX-License-Identifier: MIT
#include "engine/cache_budget.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "device/ops.h"

namespace lanner::engine {
namespace {

std::size_t blocks_of(std::size_t tokens) { return (tokens + device::kKvBlock - 1) / device::kKvBlock; }

/// The number behind `key` in a file of "key number" lines or of one number; 0 when there is none.
std::size_t read_number(const char* file, const std::string& key) {
  std::ifstream in(file);
  std::string word;
  std::size_t value = 0;
  if (key.empty()) return in >> value ? value : 0;
  while (in >> word)
    if (word == key) return in >> value ? value : 0;
  return 0;
}

}  // namespace

CacheBudget::CacheBudget(const cache::CacheSpec& spec, std::size_t step_rows, std::size_t total_bytes)
    : spec_(spec), step_rows_(step_rows), total_bytes_(total_bytes) {}

std::size_t CacheBudget::needed_bytes(std::size_t tokens) const {
  if (tokens == 0) return 0;
  std::size_t total = 0;
  for (std::size_t index = 0; index < spec_.layers.size(); ++index) {
    const cache::LayerSpec& layer = spec_.layers[index];
    const device::KvType type = spec_.kv_type_of(index);
    if (const auto* full = std::get_if<cache::FullSpec>(&layer)) {
      total += cache::kv_block_bytes(type, full->kv_heads, full->head_dim) * blocks_of(tokens);
    } else if (const auto* sliding = std::get_if<cache::SlidingSpec>(&layer)) {
      // A window that lies across blocks, and the rows that are written before old blocks go.
      const std::size_t most = blocks_of(sliding->window + step_rows_) + 1;
      total += cache::kv_block_bytes(type, sliding->kv_heads, sliding->head_dim) *
               std::min(blocks_of(tokens), most);
    } else if (const auto* state = std::get_if<cache::RecurrentSpec>(&layer)) {
      const std::size_t entries = device::kDeltaChunk;
      const std::size_t slot = state->value_heads * state->key_dim * state->value_dim +
                               state->key_heads * entries * state->key_dim +
                               state->value_heads * entries * (state->value_dim + 1);
      const std::size_t conv = (state->taps - 1 + cache::SequenceCache::kMaxDraft) * state->conv_channels();
      total += sizeof(float) * (2 * slot + conv);
    }
  }
  return total;
}

std::size_t CacheBudget::longest_fitting(std::size_t tokens) const {
  std::size_t low = 0;
  while (low < tokens) {
    const std::size_t middle = low + (tokens - low + 1) / 2;
    if (needed_bytes(middle) <= total_bytes_)
      low = middle;
    else
      tokens = middle - 1;
  }
  return low;
}

bool CacheBudget::reserve(std::size_t before, std::size_t after, std::size_t other_bytes) {
  const std::size_t without = reserved_bytes_ - needed_bytes(before);
  if (without + needed_bytes(after) + other_bytes > total_bytes_) return false;
  reserved_bytes_ = without + needed_bytes(after);
  return true;
}

void CacheBudget::release(std::size_t tokens) { reserved_bytes_ -= needed_bytes(tokens); }

std::size_t default_cache_bytes() {
  constexpr std::size_t kKiB = 1024;
  std::size_t bytes = read_number("/proc/meminfo", "MemAvailable:") * kKiB;
  const std::size_t group_limit = read_number("/sys/fs/cgroup/memory.max", "");
  const std::size_t group_used = read_number("/sys/fs/cgroup/memory.current", "");
  if (group_limit > group_used) bytes = std::min(bytes, group_limit - group_used);
  return bytes / 100 * 85;
}

}  // namespace lanner::engine
