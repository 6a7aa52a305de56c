// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace lanner::engine {

/// The largest n <= most with holds(n), where holds is true up to some n and false beyond; 0 when it never
/// is.
template <typename Holds>
std::size_t largest(std::size_t most, const Holds& holds) {
  std::size_t low = 0;
  while (low < most) {
    const std::size_t middle = low + (most - low + 1) / 2;
    if (holds(middle))
      low = middle;
    else
      most = middle - 1;
  }
  return low;
}

}  // namespace lanner::engine
