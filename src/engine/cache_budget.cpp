// SPDX-License-Identifier: MIT
#include "engine/cache_budget.h"

namespace lanner::engine {

bool CacheBudget::reserve(const SequenceSize& before, const SequenceSize& after, std::size_t other_bytes) {
  const std::size_t without = reserved_bytes_ - needed_bytes(before);
  if (without + needed_bytes(after) + other_bytes > total_bytes_) return false;
  reserved_bytes_ = without + needed_bytes(after);
  return true;
}

}  // namespace lanner::engine
