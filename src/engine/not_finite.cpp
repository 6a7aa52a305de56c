// SPDX-License-Identifier: MIT
#include "engine/not_finite.h"

#include <cmath>

namespace lanner::engine {

void require_finite(std::span<const float> values) {
  for (float value : values)
    if (!std::isfinite(value)) throw NotFinite();
}

}  // namespace lanner::engine
