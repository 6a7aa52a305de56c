// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include "core/philox.h"

namespace lanner::test {

/// `count` uniform floats in [low, high), a pure function of the seed.
inline std::vector<float> random_uniform(std::size_t count, std::uint64_t seed, float low, float high) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto words = philox4x32(seed, {static_cast<std::uint32_t>(i), 0, 0, 0});
    values[i] = low + (high - low) * (static_cast<float>(words[0] >> 8) * 0x1p-24F);
  }
  return values;
}

/// `count` standard normal floats (Box-Muller), a pure function of the seed.
inline std::vector<float> random_normal(std::size_t count, std::uint64_t seed) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto words = philox4x32(seed, {static_cast<std::uint32_t>(i), 1, 0, 0});
    const double u = (static_cast<double>(words[0]) + 1) * 0x1p-32;
    const double angle = 2 * std::numbers::pi * static_cast<double>(words[1]) * 0x1p-32;
    values[i] = static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(angle));
  }
  return values;
}

/// `count` uniform random bytes, a pure function of the seed.
inline std::vector<std::uint8_t> random_bytes(std::size_t count, std::uint64_t seed) {
  std::vector<std::uint8_t> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] =
        static_cast<std::uint8_t>(philox4x32(seed, {static_cast<std::uint32_t>(i), 2, 0, 0})[0] >> 24);
  return values;
}

}  // namespace lanner::test
