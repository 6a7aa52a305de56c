// SPDX-License-Identifier: MIT
#include "kernels/delta_net/delta_fold.simd.h"
#include "kernels/delta_net/delta_net.simd.h"

namespace lanner::kernels {

// Fast because: the state is read once for three rows and written once in 64; everything but the state of one
// panel of columns stays in the first-level cache.
void delta_net_avx512(const DeltaNetArgs& args, std::size_t head_begin, std::size_t head_end) {
  advance_heads(args, head_begin, head_end);
}

// Fast because: the sums of 6 rows times a few vectors of columns stay in registers over all entries.
void delta_fold_avx512(const DeltaFoldArgs& args, std::size_t head_begin, std::size_t head_end) {
  fold_heads(args, head_begin, head_end);
}

}  // namespace lanner::kernels
