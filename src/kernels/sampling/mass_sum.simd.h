// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/portable_math.h"

/// Plain loops of which the compiler makes vectors, for the instructions of the file that includes them.
namespace lanner::kernels {
namespace {

constexpr std::size_t kMassesAtOnce = 64;

/// integer_mass() for [-700, 0] without branches, and without conversions between doubles and 64-bit
/// integers: only AVX-512 has these for vectors.
inline std::uint64_t mass_of(double log_mass) {
  constexpr double kWhole = 0x1p52;  // x + kWhole has no bits behind the point, and x in its last bits
  constexpr double kHalf = 0.5;
  const double units = portable_exp(log_mass) * kMassUnit + kHalf;
  const double near = units + kWhole;
  const auto nearest = std::bit_cast<std::uint64_t>(near) - std::bit_cast<std::uint64_t>(kWhole);
  return nearest - (std::bit_cast<std::uint64_t>(units - (near - kWhole)) >> 63);  // rounded down
}

std::uint64_t sum_of_masses(const float* values, std::size_t count, double top) {
  constexpr double kLeast = -31.2;  // whose mass is 0 already
  const std::size_t whole = count - count % kMassesAtOnce;
  std::uint64_t sum = 0;
  for (std::size_t first = 0; first < whole; first += kMassesAtOnce) {
    double log_masses[kMassesAtOnce];
    for (std::size_t i = 0; i < kMassesAtOnce; ++i) {
      const double log_mass = double(values[first + i]) - top;
      log_masses[i] = log_mass < kLeast ? kLeast : log_mass;
    }
    for (const double log_mass : log_masses) sum += mass_of(log_mass);
  }
  for (std::size_t i = whole; i < count; ++i) sum += integer_mass(double(values[i]) - top);
  return sum;
}

}  // namespace
}  // namespace lanner::kernels
