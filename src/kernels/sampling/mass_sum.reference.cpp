// SPDX-License-Identifier: MIT
#include "kernels/sampling/mass_sum.h"

#include "core/portable_math.h"

namespace lanner::kernels {

std::uint64_t mass_sum_reference(std::span<const float> values, float top) {
  std::uint64_t sum = 0;
  for (const float value : values) sum += integer_mass(double(value) - double(top));
  return sum;
}

}  // namespace lanner::kernels
