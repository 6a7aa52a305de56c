// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/linear/int8_linear.h"

namespace lanner::kernels {

/// The versions for 64-bit Arm with the dot product extension; see int8_linear.h.
QuantizeRowsFn quantize_rows_neon;
Int8Kernels int8_kernels_neon(const WeightSpec& spec);

}  // namespace lanner::kernels
