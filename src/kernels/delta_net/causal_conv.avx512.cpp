// SPDX-License-Identifier: MIT
#include "kernels/delta_net/causal_conv.simd.h"

namespace lanner::kernels {

// Fast because: 16 channels at once, the convolution and its silu in one pass.
void causal_conv_avx512(const CausalConvArgs& args, std::size_t channel_begin, std::size_t channel_end) {
  causal_conv_channels(args, channel_begin, channel_end);
}

}  // namespace lanner::kernels
