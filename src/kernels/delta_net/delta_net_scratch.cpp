// SPDX-License-Identifier: MIT
#include "kernels/delta_net/delta_net_scratch.h"

#include "kernels/delta_net/delta_net.h"

namespace lanner::kernels {

std::size_t delta_net_scratch_floats(std::size_t /*key_dim*/, std::size_t /*value_dim*/) {
  return kDeltaScratchFloats;
}

}  // namespace lanner::kernels
