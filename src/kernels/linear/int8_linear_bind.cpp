// SPDX-License-Identifier: MIT
#include "core/cpu_features.h"
#include "kernels/linear/int8_linear.h"

namespace lanner::kernels {

Int8Kernels find_int8_kernels(const WeightSpec& spec, Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512 && cpu_supports_vnni()) return int8_kernels_avx512(spec);
  if (isa == Isa::kAvx512 || isa == Isa::kAvx2) return int8_kernels_avx2(spec);
#endif
  static_cast<void>(isa);
  return int8_kernels_reference(spec);
}

bool has_fast_int8(Isa isa) { return isa == Isa::kAvx2 || isa == Isa::kAvx512; }

}  // namespace lanner::kernels
