// SPDX-License-Identifier: MIT
#include "engine/grammar_constraint.h"

#include <algorithm>

namespace lanner::engine {

void GrammarConstraint::fill_mask(std::span<std::uint64_t> mask) {
  const std::size_t needed = matcher_.grammar().vocabulary().size() / 64 + 1;
  if (mask.size() >= needed) return matcher_.fill_mask(mask);
  words_.resize(needed);
  matcher_.fill_mask(words_);
  std::copy_n(words_.begin(), mask.size(), mask.begin());
}

}  // namespace lanner::engine
