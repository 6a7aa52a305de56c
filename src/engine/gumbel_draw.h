// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/survivors.h"

namespace lanner::engine {

/// What the noise of a draw depends on, besides the token.
struct DrawPlace {
  std::uint64_t seed = 0;
  std::uint32_t position = 0;
  std::uint32_t choice = 0;
};

/// A draw from the softmax of the survivors' values over `temperature`: the largest sum of value and Gumbel
/// noise; ties: the lowest id. At least one survives.
Candidate draw(Survivors& survivors, double temperature, const DrawPlace& place);

}  // namespace lanner::engine
