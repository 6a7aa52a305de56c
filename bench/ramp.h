// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

namespace lanner::bench {

/// Floats of small changing size, so that no kernel meets denormals or a constant.
inline std::vector<float> ramp(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = 0.1F + 0.001F * static_cast<float>(i % 997);
  return values;
}

}  // namespace lanner::bench
