// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

namespace lanner::kernels {

/// The sum of integer_mass(double(value) - double(top)): what a softmax divides by, in units of 1 / kMassUnit
/// relative to `top`. No value is above `top`, none not a number; -infinity adds nothing. Any alignment.
/// Every version gives the same sum. batch-invariant: yes.
using MassSumFn = std::uint64_t(std::span<const float> values, float top);
MassSumFn mass_sum_reference, mass_sum_avx2, mass_sum_avx512, mass_sum_neon;

}  // namespace lanner::kernels
