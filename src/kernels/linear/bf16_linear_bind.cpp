// SPDX-License-Identifier: MIT
#include "kernels/linear/bf16_linear.h"

namespace lanner::kernels {

Bf16Kernels find_bf16_kernels([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512 && cpu_supports_bf16())
    return {.linear = bf16_linear_avx512, .round = round_bf16_avx512};
#endif
  return {};
}

}  // namespace lanner::kernels
