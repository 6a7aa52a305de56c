// SPDX-License-Identifier: MIT
#include "kernels/delta_net/causal_conv.h"

#include <cmath>

namespace lanner::kernels {

void causal_conv_reference(const CausalConvArgs& args, std::size_t channel_begin, std::size_t channel_end) {
  const std::size_t past = args.taps - 1;
  for (std::size_t row = 0; row < args.rows; ++row)
    for (std::size_t channel = channel_begin; channel < channel_end; ++channel) {
      double sum = 0;
      for (std::size_t tap = 0; tap < args.taps; ++tap) {
        const std::size_t at = row + tap;  // index into [history; x]
        const float input = at < past ? args.history[at * args.channels + channel]
                                      : args.x[(at - past) * args.channels + channel];
        sum += double(args.w[tap * args.channels + channel]) * double(input);
      }
      args.out[row * args.channels + channel] = float(sum / (1 + std::exp(-sum)));
    }
}

}  // namespace lanner::kernels
