// SPDX-License-Identifier: MIT
// Fast because few rows unpack weights in registers next to the products, four weight rows at a time, and
// many rows share one widened panel in register tiles of 4 x 3.
#include "kernels/linear/linear_isa.h"
#include "kernels/linear/linear_table.h"
#include "kernels/linear/weight_formats.avx2.h"

namespace lanner::kernels {

LinearKernels linear_kernels_avx2(const WeightSpec& spec) { return LinearTable<FormatSet>::find(spec); }

}  // namespace lanner::kernels
