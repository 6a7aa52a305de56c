// SPDX-License-Identifier: MIT
#include "engine/cache_budget.h"

namespace lanner::engine {

bool CacheBudget::reserve(const SequenceSize& before, const SequenceSize& after, std::size_t other_bytes) {
  const cache::CacheBytes changed = reserved_ - memory_.parts(before) + memory_.parts(after);
  if (changed.total() + other_bytes > total_bytes_) return false;
  reserved_ = changed;
  return true;
}

}  // namespace lanner::engine
